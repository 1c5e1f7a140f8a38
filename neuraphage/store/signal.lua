-- signal: what people send. Input and answers go to the inbox, pause and cancel are flags while a process
-- holds the task, resume, retry and reset are moves, and so is input to a completed task. limit sets fields.
-- ARGV: kind, key, value (inbox bytes, or the cancel reason), prompt, events_max, republish_ms, exec_ms,
--       conversation_ms, inbox_max, signals_max, by, why_max, archive (its key up to the fence),
--       max_turns, max_cost_microusd (each empty when it stays as it is; for limit, retry and reset)
local kind, key, value, prompt, by = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[11]
local limits = { events_max = number(5), republish_ms = number(6), exec_ms = number(7), conversation_ms = number(8) }
local row = read(COMMON)
if not row.status then return { 'NOT_FOUND' } end
local now = now_ms()
local seq = row.seq + 1

local function where()
  for name, zset in pairs({ outbox = OUTBOX, leases = LEASES, timers = TIMERS, waits = WAITS }) do
    if redis.call('ZSCORE', zset, ID) then return name end
  end
  return ''
end
local function reply(verdict)
  local now_row = redis.call('HMGET', TASK, 'status', 'seq', 'iteration')
  return { verdict, now_row[1], where(), now_row[2], now_row[3], redis.call('EXISTS', MESSAGES) }
end
if redis.call('ZSCORE', SIGNALS, key) then return reply('REPEATED') end
local function remember()
  redis.call('ZADD', SIGNALS, now, key)
  redis.call('ZREMRANGEBYRANK', SIGNALS, 0, -number(10) - 1)
end
local function accepted()
  remember()
  return reply('ACCEPTED')
end
local leased = has_lease()
local raised, is_raised = {}, false
for name, value in pairs({ max_turns = ARGV[14], max_cost_microusd = ARGV[15] }) do
  if value ~= '' then raised[name] = value; is_raised = true end
end
local function tell_limits()
  event('LimitsChanged', cjson.encode({
    max_turns = tonumber(raised.max_turns), max_cost_microusd = tonumber(raised.max_cost_microusd), by = by,
  }), limits.events_max)
end

-- Leads an ended task back to work. The fence is raised, so that no former holder can write.
local function revive(reason, set)
  set.seq, set.fence, set.recoveries, set.stalls, set.saved_at = seq, row.fence + 1, 0, 0, now
  queue_task(row, now, 'Queued', reason, set, limits)
  for _, name in ipairs(PER_TASK) do redis.call('PERSIST', name) end
  redis.call('ZREM', RETENTION, ID)
end

local function input_or_answer()
  if kind == 'answer' and (redis.call('HEXISTS', TASK, 'p:' .. prompt) == 0 or redis.call('HEXISTS', TASK, 'a:' .. prompt) == 1) then
    if by == 'timeout' then redis.call('ZREM', DEADLINES, ID .. '|' .. prompt) end -- else every sweep would meet it
    return reply('PROMPT_NOT_OPEN')
  end
  -- answers are bounded by their prompts; refusing one would leave a full task waiting for ever
  if kind == 'input' and redis.call('LLEN', INBOX) >= number(9) then return reply('FULL') end
  redis.call('RPUSH', INBOX, value)
  if kind == 'answer' then
    redis.call('HSET', TASK, 'a:' .. prompt, key)
    redis.call('ZREM', DEADLINES, ID .. '|' .. prompt)
  end
  event(kind == 'answer' and 'AnswerReceived' or 'InputReceived', cjson.encode({ prompt = prompt, by = by }), limits.events_max)
  if by == 'timeout' then
    note_decision(cjson.encode({
      task_id = ID, verdict = 'deadline', evidence = 'due', iteration = tonumber(row.iteration),
      saved_age_ms = now - (tonumber(row.saved_at) or now), recoveries = tonumber(row.recoveries),
      reason = 'Nobody had answered in time: the default answer of the prompt was given.',
    }), now, number(12))
  end
  if row.status == 'WaitingForUser' and inbox_ready() then
    local set = { seq = seq }
    if talking() then set.turns_from = row.iteration end
    queue_task(row, now, 'Queued', 'user_input', set, limits)
  end
  return accepted()
end

-- A completed task goes on with its conversation. Its turns are counted from the message on, its cost from the start.
local function go_on()
  local set = { turns_from = row.iteration }
  if redis.call('EXISTS', MESSAGES) == 0 then return reply('ILLEGAL') end
  if at_limit(set) then return reply('AT_LIMIT') end
  redis.call('RPUSH', INBOX, value)
  revive('user_input', set)
  event('InputReceived', cjson.encode({ prompt = prompt, by = by }), limits.events_max)
  return accepted()
end

-- Holds from the next model call on. An ended task keeps its expiry.
local function limit()
  if row.status == 'Cancelled' or not is_raised then return reply('ILLEGAL') end
  write(raised)
  tell_limits()
  remember()
  if TERMINAL[row.status] then redis.call('PEXPIRE', SIGNALS, limits.exec_ms) end
  return reply('ACCEPTED')
end

local function cancel()
  redis.call('HSET', TASK, 'cancel_reason', value)
  remember() -- before the end, which gives the key its expiry
  if leased then
    redis.call('HSET', TASK, 'cancel', 1)
    redis.call('PUBLISH', NUDGE, ID)
  else
    end_task(row, 'Cancelled', now, cancel_detail(row), { seq = seq }, limits)
  end
  return reply('ACCEPTED')
end

local function pause()
  if row.status == 'Paused' then return reply('ILLEGAL') end
  if leased then
    redis.call('HSET', TASK, 'pause', 1)
    redis.call('PUBLISH', NUDGE, ID)
  else
    pause_task(row, now, 'user', { seq = seq }, limits.events_max)
  end
  return accepted()
end

-- Where the model call of the turn stands, as the journal has it; a reply that is there can still be worked off.
local function call_state()
  local readable, entry = pcall(cjson.decode, redis.call('HGET', TURN, 'model') or '')
  return readable and type(entry) == 'table' and entry.state
end

local function resume()
  if row.status ~= 'Paused' then
    if not row.pause then return reply('ILLEGAL') end
    redis.call('HSET', TASK, 'resumed_at', now)
    redis.call('HDEL', TASK, 'pause')
    return accepted()
  end
  local function tell() event('TaskUnpaused', '{}', limits.events_max) end -- TaskResumed tells who goes on with it
  if #open_prompts() > 0 and not inbox_ready() then
    tell()
    local set = { seq = seq }
    status_fields(set, row, 'WaitingForUser', now)
    write(set)
    move_status(row, 'WaitingForUser', now)
    place(WAITS, now)
    return accepted()
  end
  local set = { seq = seq, recoveries = 0, stalls = 0 }
  if talking() then set.turns_from = row.iteration end -- a message came meanwhile
  if call_state() ~= 'completed' and at_limit(set) then return reply('AT_LIMIT') end -- it would fail at once
  tell()
  queue_task(row, now, 'Queued', 'resumed', set, limits)
  return accepted()
end

-- retry and reset lead out of Failed only (K2).
local function begin_again()
  if row.status ~= 'Failed' then return reply('ILLEGAL') end
  -- what is broken is met before anything is written
  local read_detail, detail = pcall(cjson.decode, redis.call('HGET', TASK, 'detail') or '')
  if kind == 'retry' and not (read_detail and type(detail) == 'table' and detail.recoverable) then return reply('ILLEGAL') end
  if redis.call('LLEN', MESSAGES) == 0 then return reply('ILLEGAL') end
  local call = call_state()
  local set = { retry_count = (row.retry_count or 0) + 1, max_turns = raised.max_turns, max_cost_microusd = raised.max_cost_microusd }
  if kind == 'reset' then
    set.iteration, set.turns_from = 0, 0
    set.resets = (redis.call('HGET', TASK, 'resets') or 0) + 1
    set.marker = '{"name":"task_created"}'
  end
  -- it would fail at once; a reply that is there can still be worked off
  if (kind == 'reset' or call ~= 'completed') and at_limit(set) then return reply('AT_LIMIT') end
  if kind == 'reset' then -- a copy first: at no moment does the conversation stand nowhere
    local archive = ARGV[13] .. row.fence
    redis.call('COPY', MESSAGES, archive)
    redis.call('PEXPIRE', archive, limits.conversation_ms)
  end
  revive(kind == 'retry' and 'retried' or 'reset', set)
  if kind == 'reset' then
    redis.call('LTRIM', MESSAGES, 0, 0)
    redis.call('DEL', TURN)
  elseif call == 'failed' then
    redis.call('HDEL', TURN, 'model')
  end
  if is_raised then tell_limits() end
  event(kind == 'retry' and 'TaskRetried' or 'TaskReset', '{}', limits.events_max)
  return accepted()
end

if kind == 'retry' or kind == 'reset' then return begin_again() end
if kind == 'limit' then return limit() end
if kind == 'input' and row.status == 'Completed' then return go_on() end
if TERMINAL[row.status] then return reply('ILLEGAL') end
if kind == 'cancel' then return cancel() end
if kind == 'pause' then return pause() end
if kind == 'resume' then return resume() end
return input_or_answer()
