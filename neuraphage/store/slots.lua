-- Included by scripts that put a task to work or to rest: the slots of tasks at work, and the line of those that wait for
-- one. ADMISSION is there only where settings limit tasks at work; else one question is all that is asked.
-- LINE holds, all with the score 0: `s<pool> <id>`, a slot that a task has of a pool; `w<lane> <order> <since> <id>`, a task in
-- line; `p<pool> <lane>`, a lane that waits for a full pool. A lane is `<priority> <key> <pools>`: tasks that may stand in for
-- each other. LANES has those that are not known to wait for a pool, by priority and the round that they are next in.
-- A task's field `admission` is its member of LINE, or `s` and the pools whose slots it has.

-- Why the keys of admission may not be written; nil when they may. Asked before a script writes, where they are in use.
local function unfit()
  return redis.call('HLEN', ADMISSION) > 0 and refusal_of(slot_asks(ADMISSION .. ':line', ADMISSION .. ':lanes')) or nil
end

-- Made where it is needed alone: most scripts touch nothing of it.
local function admission()
  local LINE, LANES, CLASSES, BAND, BEGUN_MAX = ADMISSION .. ':line', ADMISSION .. ':lanes', 5, 4294967296, 100
  local rules -- what the settings allow, as `adjust` has stored it; read once
  local function most_of(pool)
    rules = rules or cjson.decode(redis.call('HGET', ADMISSION, 'rules') or '{}')
    if pool == ALL then return rules.most end
    return rules.labels and (rules.labels[pool] or rules.labels[string.match(pool, '^[^=]*=') .. ALL])
  end
  -- The pools that a task with these labels needs a slot of.
  local function slots_for(labels)
    local pools = most_of(ALL) and { ALL } or {}
    for label in string.gmatch(labels or '', '[^\n]+') do if most_of(label) then pools[#pools + 1] = label end end
    return pools
  end
  local function is_taken(pool)
    local most = most_of(pool)
    return most and redis.call('ZLEXCOUNT', LINE, '[s' .. pool .. ' ', '(s' .. pool .. '!') >= most
  end
  local function first_taken(pools)
    for _, pool in ipairs(pools) do if is_taken(pool) then return pool end end
    return nil
  end

  local function lane_of(labels, priority, pools)
    local key, named = '', (rules.fair or '') .. '='
    for label in string.gmatch(labels or '', '[^\n]+') do
      if string.sub(label, 1, #named) == named then key = string.sub(label, #named + 1) end
    end
    local own = {}
    for _, pool in ipairs(pools) do if pool ~= ALL then own[#own + 1] = pool end end
    return priority .. ' ' .. key .. ' ' .. table.concat(own, ',')
  end
  local function lane_in(member) return string.match(member, '^w(%d [^ ]* [^ ]*) ') end
  local function class_of(lane) return tonumber(string.sub(lane, 1, 1)) end
  local function key_in(lane) return string.match(lane, '^%d [^ ]* ') end
  local function head_of(lane) return redis.call('ZRANGEBYLEX', LINE, '[w' .. lane .. ' ', '(w' .. lane .. '!', 'LIMIT', 0, 1)[1] end

  -- The round that a key's lanes are next in: one turn a round. A key that had nobody in line begins with the next round.
  local function next_round(lane)
    local now_at = tonumber(redis.call('HGET', ADMISSION, 'round ' .. class_of(lane))) or 0
    return math.max(now_at + 1, tonumber(redis.call('HGET', ADMISSION, 'next ' .. key_in(lane))) or 0)
  end
  local function list_lane(lane)
    redis.call('ZADD', LANES, 'NX', class_of(lane) * BAND + next_round(lane), lane)
  end
  local function forget_empty(lane)
    if head_of(lane) then return end
    redis.call('ZREM', LANES, lane)
    for pool in string.gmatch(string.match(lane, '[^ ]*$'), '[^,]+') do redis.call('ZREM', LINE, 'p' .. pool .. ' ' .. lane) end
    local key = key_in(lane)
    if redis.call('ZLEXCOUNT', LINE, '[w' .. key, '(w' .. string.sub(key, 1, -2) .. '!') == 0 then
      redis.call('HDEL', ADMISSION, 'next ' .. key)
    end
  end
  local function list_parked(from, to)
    for _, member in ipairs(redis.call('ZRANGEBYLEX', LINE, from, to)) do
      redis.call('ZREM', LINE, member)
      list_lane(string.match(member, '^p[^ ]* (.*)$'))
    end
  end

  local function stand(member)
    redis.call('ZADD', LINE, 0, member)
    redis.call('HSET', TASK, 'admission', member)
    list_lane(lane_in(member))
  end
  local function drop(member)
    redis.call('ZREM', LINE, member)
    forget_empty(lane_in(member))
  end

  local function take(pools)
    for _, pool in ipairs(pools) do redis.call('ZADD', LINE, 0, 's' .. pool .. ' ' .. ID) end
    if #pools > 0 then redis.call('HSET', TASK, 'admission', 's' .. table.concat(pools, ' '))
    else redis.call('HDEL', TASK, 'admission') end
  end
  local function give_back(held)
    for pool in string.gmatch(string.sub(held, 2), '%S+') do
      redis.call('ZREM', LINE, 's' .. pool .. ' ' .. ID)
      list_parked('[p' .. pool .. ' ', '(p' .. pool .. '!')
    end
  end
  local function tell_scheduled(waited_ms, cause)
    event(EVENT.TaskScheduled, cjson.encode({ waited_ms = waited_ms }), given.events_max, cause)
  end

  -- Of one priority: the lane whose turn it is, with its round and the first task in it.
  local function first_lane(class)
    while true do
      local found = redis.call('ZRANGEBYSCORE', LANES, class * BAND, '(' .. (class + 1) * BAND, 'WITHSCORES', 'LIMIT', 0, 1)
      local lane, score = found[1], tonumber(found[2])
      if not lane then return nil end
      local member = head_of(lane)
      -- the key has had its turn of this round, by this lane or another one
      local earliest = class * BAND + (tonumber(redis.call('HGET', ADMISSION, 'next ' .. key_in(lane))) or 0)
      if not member then redis.call('ZREM', LANES, lane)
      elseif score < earliest then redis.call('ZADD', LANES, 'XX', earliest, lane)
      else return { lane = lane, round = score - class * BAND, member = member } end
    end
  end
  -- A lower priority stands behind by so much time for each step, and no more: who waits long comes before those who came late.
  local function next_in_line()
    local best, best_due
    for class = 0, CLASSES - 1 do
      local first = first_lane(class)
      local due = first and tonumber(string.match(first.member, ' (%d+) [^ ]+$')) + class * (rules.step_ms or 0)
      if first and (not best or due < best_due) then best, best_due = first, due end
    end
    return best
  end

  -- Puts the first of a lane to work, has its lane wait for a full pool, or takes out what has no business in line. Answers
  -- how many were put to work.
  local function begin(first, now)
    local row = redis.pcall('HMGET', TASK, 'status', 'seq', 'iteration', 'admission', 'labels', 'priority')
    local readable = not row.err and type(redis.pcall('XLEN', EVENTS)) == 'number' and tonumber(row[2]) and tonumber(row[3])
    if not readable or row[1] ~= STATUS.Queued or row[4] ~= first.member then drop(first.member); return 0 end
    local pools = slots_for(row[5])
    local lane = lane_of(row[5], row[6] or PRIORITY, pools)
    if lane ~= first.lane then -- limits have changed since
      drop(first.member)
      stand('w' .. lane .. string.sub(first.member, #first.lane + 2))
      return 0
    end
    local taken = first_taken(pools)
    if taken then
      redis.call('ZADD', LINE, 0, 'p' .. taken .. ' ' .. lane)
      redis.call('ZREM', LANES, lane)
      return 0
    end
    redis.call('HSET', ADMISSION, 'round ' .. class_of(lane), first.round, 'next ' .. key_in(lane), first.round + 1)
    drop(first.member)
    take(pools)
    redis.call('HSET', TASK, 'seq', row[2] + 1)
    put(OUTBOX, now + given.republish_ms)
    tells(CAUSE.slot, row[3])
    tell_scheduled(now - tonumber(string.match(first.member, ' (%d+) [^ ]+$')))
    wake_later(row[2] + 1, row[3])
    return 1
  end
  -- Gives free slots to those in line.
  local function advance(now)
    local begun = 0
    while begun < BEGUN_MAX and not is_taken(ALL) do
      local first = next_in_line()
      if not first then return begun end
      as_task(string.match(first.member, '[^ ]+$'), function() begun = begun + begin(first, now) end)
    end
    return begun
  end

  -- Whether the task may begin: it has what slots it needs, or needs none. Else it stands in line. Who has begun before goes
  -- before those who have not.
  local function enter_line(row, now)
    local held, labels, priority = unpack(redis.call('HMGET', TASK, 'admission', 'labels', 'priority'))
    if held and string.sub(held, 1, 1) == 's' then return true end
    if held then drop(held) end
    local pools = slots_for(labels)
    local lane = lane_of(labels, priority or PRIORITY, pools)
    if #pools == 0 or (not head_of(lane) and not first_taken(pools)) then
      take(pools)
      if #pools > 0 then tell_scheduled(0) end
      return true
    end
    local number = (tonumber(redis.call('HGET', ADMISSION, 'number')) or 0) + 1
    redis.call('HSET', ADMISSION, 'number', string.format('%.0f', number))
    stand(string.format('w%s %s%015.0f %.0f %s', lane, row.fence == '0' and '1' or '0', number, now, ID))
    put(WAITS, now)
    return false
  end
  local function give_up(held)
    redis.call('HDEL', TASK, 'admission')
    if string.sub(held, 1, 1) ~= 's' then return drop(held) end
    give_back(held)
    advance(now_ms())
  end
  return {
    enter = enter_line, give_up = give_up, give_back = give_back, take = take, slots_for = slots_for, stand = stand,
    lane_in = lane_in, advance = advance, list_parked = list_parked, is_taken = is_taken, line = LINE, lanes = LANES,
  }
end
local made
local function slots()
  made = made or admission()
  return made
end

enter = function(row, now)
  if row.starts_at then
    if (tonumber(row.starts_at) or 0) > now then put(TIMERS, row.starts_at); return false end
    redis.call('HDEL', TASK, 'starts_at')
  end
  return redis.call('HLEN', ADMISSION) == 0 or slots().enter(row, now)
end
-- What a task at rest has of admission goes on to others, at once.
leave = function()
  local held = redis.call('HGET', TASK, 'admission')
  if held then slots().give_up(held) end
end
