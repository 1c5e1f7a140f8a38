-- resume: a paused task goes on, or waits again for what it waited for; a pause that is still to come is taken back.
local function resumed()
  each_child(resume_below, now, given)
  return with_woken(accepted())
end
if row.status ~= STATUS.Paused then
  if not row.pause then return reply('ILLEGAL') end
  redis.call('HSET', TASK, 'resumed_at', now)
  redis.call('HDEL', TASK, 'pause')
  return resumed()
end
local function tell() event(EVENT.TaskUnpaused, '{}', given.events_max) end -- TaskResumed tells who goes on with it
if #open_prompts() > 0 and not inbox_ready() then
  tell()
  local set = { seq = seq }
  status_fields(set, row, STATUS.WaitingForUser, now)
  write(set)
  move_status(row, STATUS.WaitingForUser, now)
  place(WAITS, now)
  return resumed()
end
if waits_for_tasks() then
  tell()
  hold_back(row, now, { seq = seq }, given.events_max)
  return resumed()
end
local set = { seq = seq, recoveries = 0, stalls = 0 }
if talking() then set.turns_from = row.iteration end -- a message came meanwhile
if call_state() ~= EFFECT.completed and at_limit(set) then return reply('AT_LIMIT') end -- it would fail at once
tell()
queue_task(row, now, STATUS.Queued, REASON.resumed, set, given)
return resumed()
