-- limit: what a task may use at most, from its next model call on. An ended task keeps its expiry.
local raised = raised_limits()
if row.status == STATUS.Cancelled or not next(raised) then return reply('ILLEGAL') end
write(raised)
if given.max_tree_turns ~= '' then count_turns() end
tell_limits(raised)
remember()
if TERMINAL[row.status] then redis.call('PEXPIRE', SIGNALS, given.exec_ms) end
return reply('ACCEPTED')
