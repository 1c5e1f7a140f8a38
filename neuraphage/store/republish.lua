-- republish: raise the outbox score of a task that nobody has claimed; the caller then publishes.
-- The distance doubles each time. ARGV: not_after_ms (take entries due by then), first_ms, max_ms
local row = read(COMMON)
local due = tonumber(redis.call('ZSCORE', OUTBOX, ID))
if not row.status or not due then return { 'STALE' } end
local now = now_ms()
if due > now + number(1) then return { 'STALE' } end
local tries_of, tries = string.match(redis.call('HGET', TASK, 'published') or '', '^(%d+):(%d+)$')
tries = tries_of == row.seq and tonumber(tries) + 1 or 1
local distance = math.min(number(2) * 2 ^ math.min(tries, 20), number(3))
write({ published = row.seq .. ':' .. tries })
redis.call('ZADD', OUTBOX, now + distance, ID)
return { 'PUBLISH', row.seq, row.iteration }
