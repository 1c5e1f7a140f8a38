-- deliver: a message or an answer, to the inbox. A completed task goes on with a message.
local prompt = given.prompt
local function tell(kind)
  local data = { prompt = prompt, by = given.by }
  if given.who ~= '' then data.who = given.who end
  if given.said ~= '' then data.answer = given.said end -- a plain word: the turn that takes it looks for secrets
  event(kind, cjson.encode(data), given.events_max)
end

-- A completed task goes on with its conversation. Its turns are counted from the message on, its cost from the start.
local function go_on()
  local set = { turns_from = row.iteration }
  if redis.call('EXISTS', MESSAGES) == 0 then return reply('ILLEGAL') end
  if at_limit(set) then return reply('AT_LIMIT') end
  redis.call('RPUSH', INBOX, given.value)
  back_to_work(REASON.user_input, set)
  tell(EVENT.InputReceived)
  return accepted()
end

-- What was seen is a person's to judge, and whoever writes has done so.
local function is_paused_for_anomaly()
  if row.status ~= STATUS.Paused then return false end
  local readable, detail = pcall(cjson.decode, redis.call('HGET', TASK, 'detail') or '')
  return readable and type(detail) == 'table' and detail.reason == SUSPEND_TO.anomaly
end

local function is_open()
  return redis.call('HEXISTS', TASK, 'p:' .. prompt) == 1 and redis.call('HEXISTS', TASK, 'a:' .. prompt) == 0
end
local function put_in_inbox()
  if given.kind == SIGNAL.answer and not is_open() then
    if given.by == 'timeout' then redis.call('ZREM', DEADLINES, ID .. '|' .. prompt) end -- else every sweep would meet it
    return reply('PROMPT_NOT_OPEN')
  end
  -- answers are bounded by their prompts; refusing one would leave a full task waiting for ever
  if given.kind == SIGNAL.input and redis.call('LLEN', INBOX) >= given.inbox_max then return reply('FULL') end
  local value = given.value
  if given.kind == SIGNAL.answer and talks(prompt) then value = 'i' .. string.match(value, '\n.*') end -- words to the model
  redis.call('RPUSH', INBOX, value)
  if given.kind == SIGNAL.answer then
    redis.call('HSET', TASK, 'a:' .. prompt, given.key)
    redis.call('ZREM', DEADLINES, ID .. '|' .. prompt)
  end
  tell(given.kind == SIGNAL.answer and EVENT.AnswerReceived or EVENT.InputReceived)
  if given.by == 'timeout' then
    note_decision(cjson.encode({
      task_id = ID, verdict = 'deadline', evidence = EVIDENCE.due, iteration = tonumber(row.iteration),
      saved_age_ms = now - (tonumber(row.saved_at) or now), recoveries = tonumber(row.recoveries),
      reason = SAY.deadline,
    }), now, given.why_max)
  end
  if given.kind == SIGNAL.input and is_paused_for_anomaly() then
    if waits_for_tasks() then hold_back(row, now, { seq = seq }, given.events_max)
    else queue_task(row, now, STATUS.Queued, REASON.user_input, { seq = seq, recoveries = 0, stalls = 0 }, given) end
  end
  if row.status == STATUS.WaitingForUser and inbox_ready() then
    local set = { seq = seq }
    if talking() then set.turns_from = row.iteration end
    queue_task(row, now, STATUS.Queued, REASON.user_input, set, given)
  end
  return accepted()
end

if given.kind == SIGNAL.input and row.status == STATUS.Completed then return go_on() end
if TERMINAL[row.status] then return reply('ILLEGAL') end
return put_in_inbox()
