-- observe: how far an observer has come is noted, and what becomes of an event that it fails on, while this runner is the
-- one that tells events. One that was held up for long finds that another one has taken over, and notes nothing.
if redis.call('GET', OBSERVING) ~= given.token then return { 'STALE' } end
redis.call('PEXPIRE', OBSERVING, given.hold_ms)
if given.place ~= '' then redis.call('HSET', OBSERVERS, given.observer, given.place) end
if given.row ~= '' then
  redis.call('HSET', PUT_BY, given.event, given.row)
elseif given.event ~= '' then
  redis.call('HDEL', PUT_BY, given.event)
end
return { 'OBSERVED' }
