-- stop: cancel or pause. A flag while a process holds the task, else a move at once.
local leased = has_lease()

local function flag(name)
  redis.call('HSET', TASK, name, 1)
  redis.call('PUBLISH', NUDGE, ID)
end
local function cancel()
  redis.call('HSET', TASK, 'cancel_reason', given.reason)
  remember() -- before the end, which gives the key its expiry
  if leased then
    flag('cancel')
  else
    end_task(row, STATUS.Cancelled, now, cancel_detail(row), { seq = seq }, given)
  end
  return with_woken(reply('ACCEPTED'))
end
local function pause()
  if row.status == STATUS.Paused then return reply('ILLEGAL') end
  if leased then
    flag('pause')
  else
    pause_task(row, now, 'user', { seq = seq }, given.events_max)
  end
  each_child(pause_below, now, given)
  return with_woken(accepted())
end

if TERMINAL[row.status] then return reply('ILLEGAL') end
if given.kind == SIGNAL.cancel then return cancel() end
return pause()
