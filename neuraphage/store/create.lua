-- create: a new task, in the outbox. KEYS[26] is the idempotency key, KEYS[27] the tombstones.
-- ARGV: spec (JSON), first entry, name, priority, reason, events_max, republish_ms, key_ttl_ms
local CREATED, TOMBSTONES = KEYS[26], KEYS[27]
refused = not_allowed('GET', CREATED) or not_allowed('SET', CREATED) or not_allowed('ZSCORE', TOMBSTONES)
if refused then return refused end
local first = redis.call('GET', CREATED)
if first then return { 'EXISTS', first } end
if redis.call('EXISTS', TASK) == 1 or redis.call('ZSCORE', TOMBSTONES, ID) then return { 'EXISTS', ID } end
local now = now_ms()
write({
  spec = ARGV[1], name = ARGV[3], priority = ARGV[4], status = 'Queued', since = now, created_at = now, saved_at = now,
  marker = '{"name":"task_created"}', iteration = 0, seq = 1, fence = 0, token = 0, recoveries = 0,
  recoveries_total = 0, reason = ARGV[5], schema = SCHEMA,
})
redis.call('RPUSH', MESSAGES, ARGV[2])
redis.call('SET', CREATED, ID, 'PX', ARGV[8])
redis.call('ZADD', IDS, now, ID)
redis.call('ZADD', STATUS.Queued, now, ID)
redis.call('ZADD', OUTBOX, now + number(7), ID)
event('TaskCreated', cjson.encode({ name = ARGV[3] }), number(6))
return { 'CREATED', ID }
