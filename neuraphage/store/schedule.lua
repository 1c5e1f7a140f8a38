-- schedule: adds a schedule, or pauses, resumes or removes one. SCHEDULES holds by name what it was made of, STATES where it
-- stands (model/schedule.py). next_ms: its next time, of one that is added or resumed.
local stored = redis.call('HGET', STATES, given.name)
local state = stored and cjson.decode(stored)
if given.kind == SCHEDULING.add then
  -- a repeat of a request whose answer was lost says the same again: its definition has when it was made
  if state then return { redis.call('HGET', SCHEDULES, given.name) == given.definition and 'ACCEPTED' or 'EXISTS' } end
  if redis.call('HLEN', SCHEDULES) >= given.most then return { 'TOO_MANY' } end
  redis.call('HSET', SCHEDULES, given.name, given.definition)
  state = { next_ms = given.next_ms }
elseif not state then return { 'NOT_FOUND' }
elseif given.kind == SCHEDULING.remove then
  redis.call('HDEL', SCHEDULES, given.name)
  redis.call('HDEL', STATES, given.name)
  return { 'ACCEPTED' }
elseif given.kind == SCHEDULING.pause then state.paused = true
elseif state.paused then state.paused, state.next_ms = nil, given.next_ms end
redis.call('HSET', STATES, given.name, cjson.encode(state))
return { 'ACCEPTED' }
