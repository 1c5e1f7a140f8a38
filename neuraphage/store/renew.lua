-- renew: all leases of one process in one round trip. After the keys come the hashes of the tasks, after the arguments
-- id, fence and claim of each. Answers per task: held, cancel, pause.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local until_ms = now + given.lease_ms
local replies = {}
for i = FIRST_KEY, #KEYS do
  local at = FIRST + (i - FIRST_KEY) * 3
  local row = redis.pcall('HMGET', KEYS[i], 'fence', 'claim', 'cancel', 'pause')
  if row.err then -- one damaged record must not cost the other tasks of this process their leases
    if not string.find(tostring(row.err), 'WRONGTYPE') then return row end
    row = {}
  end
  local held = row[1] == ARGV[at + 1] and row[2] == ARGV[at + 2] and redis.call('ZSCORE', LEASES, ARGV[at])
  if held then redis.call('ZADD', LEASES, until_ms, ARGV[at]) end
  replies[#replies + 1] = (held and '1' or '0') .. (row[3] and '1' or '0') .. (row[4] and '1' or '0')
end
return replies
