-- model: which models a task calls, from its next request on. An ended task keeps its expiry.
if row.status == STATUS.Cancelled or given.model == '' then return reply('ILLEGAL') end
write({ model = given.model })
event(EVENT.ModelChanged, given.told, given.events_max)
remember()
if TERMINAL[row.status] then redis.call('PEXPIRE', SIGNALS, given.exec_ms) end
return reply('ACCEPTED')
