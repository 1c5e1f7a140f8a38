-- commit: write changes in mid-turn, renew the lease, report flags and whether the lease was renewed.
-- A lease that has run for less than slack_ms is left as it is; a repeat renews nothing either.
-- Behind the changes may follow what the call that they announce is to hold (store/lock_text.py). Where it may not have that now,
-- the call is not announced: the task is Blocked instead, and its lease ends.
refused = refusal()
if refused == 'REPLAY' and row.verdict ~= '' then -- a suspend or finish used this token, or the task was blocked
  local told = replayed()
  return told[1] == 'BLOCKED' and told or { 'LOST' }
end
if refused == 'REPLAY' then return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0' } end
if refused then return { refused } end
local groups, after = parse_groups()
local now = now_ms()
local short = refused_by(groups, now)
if short then return { 'NO_MONEY', unpack(short) } end
local turn = row.tree and turn_to_take(groups)
if turn and turn.full then return { 'NO_TURNS', unpack(turn.full) } end

-- Leaves out the announcement, and has the task wait for what is in its way; back to the outbox where nothing is any more, or a
-- person wants it paused or cancelled, which its next claim resolves.
local function block(asked, locks)
  for i = 1, #groups.journal, 2 do
    if groups.journal[i] == asked.call then
      groups.journal[i + 1] = asked.before or groups.journal[i + 1]
      if not asked.before then table.remove(groups.journal, i + 1); table.remove(groups.journal, i) end
      break
    end
  end
  table.remove(groups.events); table.remove(groups.events)
  given.marker = asked.marker
  local set = change_fields(groups, now)
  set.seq = row.seq + 1
  apply(groups, set, true)
  if row.locks then give_locks_up(now, true) end
  local resource, holder = locks.obstacle(asked.needs)
  local waits = resource and not row.pause and not row.cancel
  local answer = { 'BLOCKED', waits and STATUS.Blocked or STATUS.Running, waits and PLACE.waits or PLACE.outbox, tostring(set.seq), row.iteration }
  local last = { verdict = cjson.encode(answer) }
  if not waits then
    queue_task(row, now, STATUS.Running, nil, last, given)
    return with_woken(answer)
  end
  for _, need in ipairs(asked.needs) do locks.add(need.resource, LOCK.waiting, need.mode) end
  local due = now + asked.wait_ms
  last.locks = cjson.encode({
    state = LOCK.waiting, needs = asked.needs, call = asked.call, since_ms = now, due_ms = due, resource = resource, holder_task = holder,
  })
  last.detail = cjson.encode({ resource = resource, holder_task = holder })
  status_fields(last, row, STATUS.Blocked, now)
  write(last)
  move_status(row, STATUS.Blocked, now)
  redis.call('ZADD', STATUS_KEY[STATUS.Blocked], due - asked.poll_ms, ID) -- the poll comes by when its time is over
  place(WAITS, now)
  event(EVENT.TaskBlocked, last.detail, given.events_max)
  event(EVENT.ResourceLockWait, cjson.encode({ resources = locks.names_of(asked.needs), holder_task = holder }), given.events_max)
  return with_woken(answer)
end

local taken
if after then
  refused = refusal_of(MORE) or unfit()
  if refused then return refused end
  local asked, locks = cjson.decode(after), locking(now)
  if locks.obstacle(asked.needs) then return block(asked, locks) end
  taken = locks.take(asked.needs, row.locks)
end
local renewed = now + given.lease_ms - tonumber(has_lease() or 0) >= given.slack_ms
local set = change_fields(groups, now)
set.locks = taken
set.tree = turn and turn.tree or nil
apply(groups, set, true)
if turn then add_above(turn.parent, 'turns_below', 1) end
if renewed then redis.call('ZADD', LEASES, now + given.lease_ms, ID) end
return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0', renewed and '1' or '0' }
