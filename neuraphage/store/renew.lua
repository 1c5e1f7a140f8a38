-- renew: all leases of one process in one round trip. KEYS: leases, then the task hashes.
-- ARGV: lease_ms, then task id, fence, claim for each. Answers per task: held, cancel, pause.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local until_ms = now + tonumber(ARGV[1])
local replies = {}
for i = 2, #KEYS do
  local at = 2 + (i - 2) * 3
  local row = redis.pcall('HMGET', KEYS[i], 'fence', 'claim', 'cancel', 'pause')
  if row.err then -- one damaged record must not cost the other tasks of this process their leases
    if not string.find(tostring(row.err), 'WRONGTYPE') then return row end
    row = {}
  end
  local held = row[1] == ARGV[at + 1] and row[2] == ARGV[at + 2] and redis.call('ZSCORE', KEYS[1], ARGV[at])
  if held then redis.call('ZADD', KEYS[1], until_ms, ARGV[at]) end
  replies[#replies + 1] = (held and '1' or '0') .. (row[3] and '1' or '0') .. (row[4] and '1' or '0')
end
return replies
