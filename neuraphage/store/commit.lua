-- commit: write changes in mid-turn, renew the lease, report flags and whether the lease was renewed.
-- A lease that has run for less than slack_ms is left as it is; a repeat renews nothing either.
refused = refusal()
if refused == 'REPLAY' and row.verdict ~= '' then return { 'LOST' } end -- a suspend or finish used this token
if refused == 'REPLAY' then return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0' } end
if refused then return { refused } end
local groups = parse_groups()
local now = now_ms()
local short = refused_by(groups, now)
if short then return { 'NO_MONEY', unpack(short) } end
local renewed = now + given.lease_ms - tonumber(has_lease() or 0) >= given.slack_ms
apply(groups, change_fields(groups, now), true)
if renewed then redis.call('ZADD', LEASES, now + given.lease_ms, ID) end
return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0', renewed and '1' or '0' }
