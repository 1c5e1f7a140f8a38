-- suspend: write changes and drop the lease in mid-turn; journal and iteration stay.
refused = refusal()
if refused == 'REPLAY' then return replayed() end
if refused then return { refused } end
refused = unfit()
if refused then return refused end
local groups, to = (parse_groups()), given.to
local too_many = #groups.children > 0 and not row.cancel and made_too_many(groups.children)
if too_many then return { 'NO_ROOM', tostring(too_many) } end
local now = now_ms()
local set = change_fields(groups, now)
local seq = row.seq + 1
set.seq = seq
add_held_time(row, set, now)
local function answer(status, where)
  set.verdict = cjson.encode(settled(status, where, seq, row.iteration))
end

-- Whether a person has written and no turn has read it.
local function has_input()
  for _, value in ipairs(redis.call('LRANGE', INBOX, 0, -1)) do
    if sent(value) == 'i' then return true end
  end
  return false
end

-- The call that the claim of this lease announced was not sent: nobody is to take it for billed.
if given.unsent == '1' then
  local readable, entry = pcall(cjson.decode, redis.call('HGET', TURN, MODEL_ENTRY) or '')
  local is_own = readable and type(entry) == 'table' and tostring(entry.fence) == row.fence
  if is_own and entry.state == EFFECT.started then redis.call('HDEL', TURN, MODEL_ENTRY) end
end

if row.cancel then
  set.verdict = cjson.encode({ 'CANCELLED', STATUS.Cancelled, '', tostring(seq), row.iteration })
  apply(groups, set, true)
  end_task(row, STATUS.Cancelled, now, cancel_detail(row), {}, given)
elseif to == SUSPEND_TO.poisoned then
  answer(STATUS.Failed, '')
  apply(groups, set, true)
  end_task(row, STATUS.Failed, now, given.detail, {}, given)
elseif row.pause then
  answer(STATUS.Paused, PLACE.waits)
  apply(groups, set, true)
  change_children(groups.children, now)
  pause_task(row, now, 'user', {}, given.events_max)
  if #groups.children > 0 then each_child(pause_below, now, given) end
elseif to == SUSPEND_TO.money then
  local short = shortage(0, added(groups).cost_microusd or 0, now)
  if short and tonumber(short[3]) >= tonumber(short[2]) then
    answer(STATUS.Paused, PLACE.waits)
    apply(groups, set, true)
    pause_task(row, now, 'money', {}, given.events_max, cjson.decode(given.detail))
  else -- somebody has raised it meanwhile
    answer(STATUS.Running, PLACE.outbox)
    apply(groups, set, true)
    queue_task(row, now, STATUS.Running, nil, {}, given)
  end
elseif to == SUSPEND_TO.anomaly and not has_input() then
  answer(STATUS.Paused, PLACE.waits)
  apply(groups, set, true)
  pause_task(row, now, SUSPEND_TO.anomaly, {}, given.events_max, cjson.decode(given.detail))
elseif to == SUSPEND_TO.timer then
  answer(STATUS.Running, PLACE.timers)
  if given.detail ~= '{}' then set.short = given.detail end -- what it waits for, for people who ask
  apply(groups, set, true)
  place(TIMERS, given.due_ms)
elseif to == SUSPEND_TO.wait then
  -- opened prompts must stand before the inbox is asked whether it answers them
  apply(groups, set, true)
  if inbox_ready() then
    answer(STATUS.Running, PLACE.outbox)
    queue_task(row, now, STATUS.Running, REASON.user_input, { verdict = set.verdict }, given)
  else
    answer(STATUS.WaitingForUser, PLACE.waits)
    local last = { verdict = set.verdict }
    status_fields(last, row, STATUS.WaitingForUser, now)
    write(last)
    if row.trail then redis.call('HDEL', TASK, 'trail') end -- who waits long takes little room
    move_status(row, STATUS.WaitingForUser, now)
    place(WAITS, now)
    event(EVENT.UserInputNeeded, given.detail, given.events_max)
  end
elseif to == SUSPEND_TO.subtasks then
  apply(groups, set, true)
  change_children(groups.children, now)
  local last = {}
  local waits = look_at_children(last)
  answer(waits and STATUS.Blocked or STATUS.Running, waits and PLACE.waits or PLACE.outbox)
  last.verdict = set.verdict
  if waits then hold_back(row, now, last, given.events_max, given.detail)
  else queue_task(row, now, STATUS.Running, nil, last, given) end
elseif to == SUSPEND_TO.blocked then
  answer(STATUS.Blocked, PLACE.waits)
  status_fields(set, row, STATUS.Blocked, now)
  set.detail = given.detail
  apply(groups, set, true)
  move_status(row, STATUS.Blocked, now)
  place(WAITS, now)
  event(EVENT.TaskBlocked, given.detail, given.events_max)
else -- shutdown, a pause whose flag is gone, an anomaly that a person has written about: the outbox at once
  answer(STATUS.Running, PLACE.outbox)
  apply(groups, set, true)
  queue_task(row, now, STATUS.Running, given.reason ~= '' and given.reason or nil, {}, given)
end
if row.locks then give_locks_up(now) end -- who waits holds none
return with_woken(cjson.decode(set.verdict))
