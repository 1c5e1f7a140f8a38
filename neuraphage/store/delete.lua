-- delete: the index entries of an ended task whose keys have expired; its id stays as a tombstone.
-- force is 1 when a person purges an ended task now.
refused = not_allowed('ZADD', TOMBSTONES)
if refused then return refused end
local row = read(COMMON)
local due = tonumber(redis.call('ZSCORE', RETENTION, ID))
local now = now_ms()
if not due or (due > now and given.force ~= '1') then return { 'STALE' } end
if row.status and not TERMINAL[row.status] then return { 'STALE' } end
redis.call('ZADD', TOMBSTONES, now + given.tombstone_ms, ID)
redis.call('ZREM', RETENTION, ID)
redis.call('ZREM', IDS, ID)
for _, zset in pairs(STATUS_KEY) do redis.call('ZREM', zset, ID) end
redis.call('DEL', TASK, MESSAGES, TURN, INBOX, EVENTS, SIGNALS, WHY, LIVE)
return { 'DELETED' }
