-- create: a new task, in the outbox. CREATED holds the id that was made under this idempotency key.
refused = not_allowed('GET', CREATED) or not_allowed('SET', CREATED) or not_allowed('ZSCORE', TOMBSTONES)
if refused then return refused end
local first = redis.call('GET', CREATED)
if first then return { 'EXISTS', first } end
if redis.call('EXISTS', TASK) == 1 or redis.call('ZSCORE', TOMBSTONES, ID) then return { 'EXISTS', ID } end
local now = now_ms()
write({
  spec = given.spec, max_turns = given.max_turns, max_cost_microusd = given.max_cost_microusd,
  status = STATUS.Queued, since = now, created_at = now, saved_at = now,
  marker = FIRST_MARKER, iteration = 0, seq = 1, fence = 0, token = 0, recoveries = 0,
  recoveries_total = 0, reason = given.reason, schema = SCHEMA,
})
if given.labels ~= '' then write({ labels = given.labels }) end
redis.call('RPUSH', MESSAGES, given.entry)
redis.call('SET', CREATED, ID, 'PX', given.key_ttl_ms)
redis.call('ZADD', IDS, now, ID)
redis.call('ZADD', STATUS_KEY[STATUS.Queued], now, ID)
redis.call('ZADD', OUTBOX, now + given.republish_ms, ID)
event(EVENT.TaskCreated, cjson.encode({ name = given.name }), given.events_max)
return { 'CREATED', ID }
