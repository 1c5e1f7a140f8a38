-- revive: retry or reset. Both lead out of Failed only.
if row.status ~= STATUS.Failed then return reply('ILLEGAL') end
local resets = given.kind == SIGNAL.reset
-- what is broken is met before anything is written
local read_detail, detail = pcall(cjson.decode, redis.call('HGET', TASK, 'detail') or '')
if not resets and not (read_detail and type(detail) == 'table' and detail.recoverable) then return reply('ILLEGAL') end
if redis.call('LLEN', MESSAGES) == 0 then return reply('ILLEGAL') end
local call, raised = call_state(), raised_limits()
local set = { retry_count = (row.retry_count or 0) + 1, max_turns = raised.max_turns, max_cost_microusd = raised.max_cost_microusd }
set.max_running_ms = raised.max_running_ms
if resets then
  set.iteration, set.turns_from = 0, 0
  set.resets = (redis.call('HGET', TASK, 'resets') or 0) + 1
  set.marker = FIRST_MARKER
end
-- it would fail at once; a reply that is there can still be worked off
if (resets or call ~= EFFECT.completed) and at_limit(set) then return reply('AT_LIMIT') end
if resets then -- a copy first: at no moment does the conversation stand nowhere
  local archive = given.archive .. row.fence
  redis.call('COPY', MESSAGES, archive)
  redis.call('PEXPIRE', archive, given.conversation_ms)
end
back_to_work(resets and REASON.reset or REASON.retried, set)
if resets then
  redis.call('LTRIM', MESSAGES, 0, 0)
  redis.call('DEL', TURN)
elseif call == EFFECT.failed then
  redis.call('HDEL', TURN, MODEL_ENTRY)
end
if next(raised) then tell_limits(raised) end
event(resets and EVENT.TaskReset or EVENT.TaskRetried, '{}', given.events_max)
return accepted()
