-- delete: the index entries of an ended task whose keys have expired; its id stays as a tombstone.
-- KEYS[26] is the tombstones. ARGV: tombstone_ms, force (1: a person purges an ended task now)
local TOMBSTONES = KEYS[26]
refused = not_allowed('ZADD', TOMBSTONES)
if refused then return refused end
local row = read(COMMON)
local due = tonumber(redis.call('ZSCORE', RETENTION, ID))
local now = now_ms()
if not due or (due > now and ARGV[2] ~= '1') then return { 'STALE' } end
if row.status and not TERMINAL[row.status] then return { 'STALE' } end
redis.call('ZADD', TOMBSTONES, now + number(1), ID)
redis.call('ZREM', RETENTION, ID)
redis.call('ZREM', IDS, ID)
for _, zset in pairs(STATUS) do redis.call('ZREM', zset, ID) end
redis.call('DEL', TASK, MESSAGES, TURN, INBOX, EVENTS, SIGNALS, WHY, LIVE)
return { 'DELETED' }
