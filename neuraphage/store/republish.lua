-- republish: raise the outbox score of a task that nobody has claimed; the caller then publishes.
-- The distance doubles each time. Entries that are due within ahead_ms are taken too.
local row = read(COMMON)
local due = tonumber(redis.call('ZSCORE', OUTBOX, ID))
if not row.status or not due then return { 'STALE' } end
local now = now_ms()
-- a score beyond the longest distance is none of this clock: it has gone back since
if due > now + given.ahead_ms and due <= now + given.max_ms then return { 'STALE' } end
local tries_of, tries = string.match(redis.call('HGET', TASK, 'published') or '', '^(%d+):(%d+)$')
local first = tries_of ~= row.seq
tries = first and 1 or tonumber(tries) + 1
local function distance_of(n) return math.min(given.first_ms * 2 ^ math.min(n, 20), given.max_ms) end
local distance = distance_of(tries)
write({ published = row.seq .. ':' .. tries })
redis.call('ZADD', OUTBOX, now + distance, ID)
-- of the publications of one message only the last is kept, so that they push no recovery out
local mark = '"publications_of":' .. row.seq .. ','
local last = redis.call('LINDEX', WHY, -1)
local function is_of_this_message()
  local decoded, entry = pcall(cjson.decode, last)
  return decoded and type(entry) == 'table' and type(entry.reading) == 'string' and string.find(entry.reading, mark, 1, true)
end
if is_of_this_message() then redis.call('RPOP', WHY) end
local waited = now - (due - (first and given.first_ms or distance_of(tries - 1)))
note_decision(string.format('{%s%s', mark, string.sub(cjson.encode({
  task_id = ID, verdict = 'republished', evidence = due > now and EVIDENCE.quiet or EVIDENCE.due, iteration = tonumber(row.iteration),
  publications = tries, dispatch_age_ms = waited, next_due_ms = now + distance,
  saved_age_ms = now - (tonumber(row.saved_at) or now), recoveries = tonumber(row.recoveries),
  reason = due > now and SAY.lost or SAY.unclaimed,
}), 2)), now, given.why_max)
return { 'PUBLISH', row.seq, row.iteration }
