-- commit: write changes in mid-turn, renew the lease, report flags.
local refused = refusal()
if refused == 'REPLAY' and row.verdict ~= '' then return { 'LOST' } end -- a suspend or finish used this token
if refused == 'REPLAY' then return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0' } end
if refused then return { refused } end
local groups = parse_groups()
local now = now_ms()
write(change_fields(groups, now))
write_rest(groups, true)
redis.call('ZADD', LEASES, now + limits.lease_ms, ID)
return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0' }
