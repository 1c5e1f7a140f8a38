-- unlock: a person takes one lock away from the task that has it. The next that waits for it goes on.
local locks = locking(now)
local own, kept, gone = locks.own_locks(row.locks), {}, {}
for _, need in ipairs(own.state == LOCK.holds and own.needs or {}) do
  local list = need.resource == given.resource and gone or kept
  list[#list + 1] = need
end
if #gone == 0 then return reply('NOT_HELD') end
event(EVENT.ResourceLockBroken, cjson.encode({ resource = given.resource, by = given.by, who = given.who }), given.events_max)
if #kept > 0 then redis.call('HSET', TASK, 'locks', cjson.encode({ state = LOCK.holds, needs = kept }))
else redis.call('HDEL', TASK, 'locks') end
locks.leave(gone)
locks.wake_all(gone)
return with_woken(accepted())
