-- admit: whether a call of a model may begin now. What the provider asked for holds for all workers of its key: while the
-- model cools nobody calls, then one call finds out whether it takes calls again, and the others wait for its outcome.
-- Where limits are set, a call takes its share before it is announced, or waits for its turn.
local readable, cool = pcall(cjson.decode, redis.call('HGET', COOLING, given.gate) or '')
if not readable then cool = nil end

-- Queued by the time of the first asking; a lower priority stands behind by so much, and no more, so nobody starves.
local function waits(due, why)
  redis.call('ZADD', QUEUE, 'NX', now + given.behind_ms, given.task)
  redis.call('PEXPIRE', QUEUE, given.keep_ms)
  if is_limited then
    redis.call('HSET', GATE, 'w:' .. given.task, cjson.encode({ input = given.input, output = given.output, due = due }))
    save()
  end
  return { 'WAIT', due, why, cool and cool.till or 0 }
end
-- Who stands further behind comes later, in case those before never come; all are woken when the model takes calls.
local function cools(from, why)
  redis.call('ZADD', QUEUE, 'NX', now + given.behind_ms, given.task)
  local rank = math.min(redis.call('ZRANK', QUEUE, given.task), given.steps_max)
  return waits(from + rank * given.step_ms, why)
end

-- What those need that stand before this task and are expected: who is overdue for long is not waited for.
local function needed_before()
  -- a newcomer stands behind those that came in the same millisecond
  local score, before = redis.call('ZSCORE', QUEUE, given.task), no_need()
  local last = score and '(' .. score or now + given.behind_ms
  for _, task in ipairs(redis.call('ZRANGEBYSCORE', QUEUE, '-inf', last, 'LIMIT', 0, given.looks_max)) do
    local other = task ~= given.task and decoded('w:' .. task)
    if other and other.due + given.keep_ms < now then
      redis.call('ZREM', QUEUE, task)
      redis.call('HDEL', GATE, 'w:' .. task)
    elseif other and other.due + given.grace_ms >= now then
      add(before, need_of(other.input, other.output))
    end
  end
  return before
end

-- When enough no longer counts for this call and those before it; at most a window from now, since much changes till then.
local function due_after(need, before)
  local due, why = now, KINDS[1]
  for _, kind in ipairs(KINDS) do
    local excess = most[kind] >= 0 and used[kind] + before[kind] + need[kind] - most[kind] or 0
    local rows = excess > 0 and redis.call('ZRANGE', USED, 0, given.looks_max - 1, 'WITHSCORES') or {}
    local at, row = now + given.window_ms, 1
    while excess > 0 and rows[row] do
      local found, amount = string.match(rows[row], '^([%a_]+):(%d+):')
      if found == kind then excess, at = excess - tonumber(amount), tonumber(rows[row + 1]) end
      row = row + 2
    end
    if excess > 0 then at = now + given.window_ms end
    if row > 1 and at > due then due, why = at, kind end
  end
  return math.min(due, now + given.window_ms) + 1, why
end

-- A call of this task that was let in before: the same one, whose worker may have died before it was announced, has its
-- share already. Another one may have been sent until now, and counts from then; what it would have written is given up.
local function is_let_in()
  local open = decoded('t:' .. given.task)
  if open and open.ticket == given.ticket then
    open.counted_by = now + given.window_ms + given.arrival_ms
    redis.call('HSET', GATE, 't:' .. given.task, cjson.encode(open))
    count(KINDS[1], 1, given.ticket, now + given.window_ms)
    count(KINDS[2], open.input, given.ticket, now + given.window_ms)
    return true
  end
  if open then
    uncount(KINDS[3], open.output, open.ticket)
    if now < open.counted_by then
      local until_ms = math.min(now + given.window_ms, open.counted_by)
      count(KINDS[1], 1, open.ticket, until_ms)
      count(KINDS[2], open.input, open.ticket, until_ms)
    end
    redis.call('HDEL', GATE, 't:' .. given.task)
  end
  return false
end

if is_limited then look() end
if cool and now < cool.till then return cools(cool.till, cool.why) end
if cool and cool.probe ~= given.task and now < (cool.probe_till or 0) then return cools(cool.probe_till, CAPACITY.probe) end
if is_limited and not is_let_in() then
  local need, before = need_of(given.input, given.output), needed_before()
  if not fits(need, before) then return waits(due_after(need, before)) end
  redis.call('HSET', GATE, 't:' .. given.task, cjson.encode({
    ticket = given.ticket, input = need[KINDS[2]], output = need[KINDS[3]],
    counted_by = now + given.window_ms + given.arrival_ms,
  }))
  count(KINDS[1], 1, given.ticket, now + given.window_ms)
  count(KINDS[2], need[KINDS[2]], given.ticket, now + given.window_ms)
  count(KINDS[3], need[KINDS[3]], given.ticket, now + given.window_ms + given.hold_ms)
end
if cool then
  -- the right of a probe whose worker is lost passes on when its time is over
  cool.probe, cool.probe_till = given.task, now + given.probe_ms
  redis.call('HSET', COOLING, given.gate, cjson.encode(cool))
end
redis.call('ZREM', QUEUE, given.task)
if is_limited then
  redis.call('HDEL', GATE, 'w:' .. given.task)
  redis.call('ZADD', GATES, now, given.gate)
  redis.call('PEXPIRE', GATES, given.keep_ms)
  redis.call('HSET', GATE, 'learned', given.learned) -- for people
  save()
end
return { cool and 'PROBE' or 'ADMITTED' }
