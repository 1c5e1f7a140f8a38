-- supersede: the model is asked again for its last reply. What hides that one is added; nothing is taken away.
local talks_now = row.status == STATUS.WaitingForUser and talking()
if row.status ~= STATUS.Completed and not talks_now then return reply('ILLEGAL') end
if redis.call('EXISTS', MESSAGES) == 0 then return reply('ILLEGAL') end
-- what is to be hidden was found in the conversation as it stood at this seq; another reply is not what was meant
if row.seq ~= given.seq then return reply('GONE_ON') end
if given.entry == '' then return reply('NO_REPLY') end
local set = { turns_from = row.iteration } -- a person has had a say, as with a message
if at_limit(set) then return reply('AT_LIMIT') end
-- older workers, which may not be able to read the entry, are to see it
if tonumber(redis.call('HGET', TASK, 'schema') or 1) < SCHEMA then set.schema = SCHEMA end
redis.call('RPUSH', MESSAGES, given.entry)
local data = { first = given.first, by = given.by }
if given.who ~= '' then data.who = given.who end
if talks_now then
  for _, prompt in ipairs(open_prompts()) do
    if talks(prompt) then
      data.prompt = prompt
      redis.call('HDEL', TASK, 'p:' .. prompt, 'a:' .. prompt)
      redis.call('ZREM', DEADLINES, ID .. '|' .. prompt)
    end
  end
  set.seq = seq
  queue_task(row, now, STATUS.Queued, REASON.retried, set, given)
else
  back_to_work(REASON.retried, set)
end
event(EVENT.ReplySuperseded, cjson.encode(data), given.events_max)
return accepted()
