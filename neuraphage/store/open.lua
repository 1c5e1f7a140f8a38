-- open: the provider has taken the call that was to find that out. Whoever waits for the model is woken, in its order.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local readable, cool = pcall(cjson.decode, redis.call('HGET', COOLING, given.gate) or '')
-- it may have been refused to another call since, which counts
if not readable or cool.probe ~= given.task then return { 'STALE' } end
for at, task in ipairs(redis.call('ZRANGE', QUEUE, 0, -1)) do
  local due, woken = tonumber(redis.call('ZSCORE', TIMERS, task) or 0), now + at * given.wake_ms
  if due > woken then redis.call('ZADD', TIMERS, 'XX', woken, task) end
end
redis.call('HDEL', COOLING, given.gate)
if given.limited ~= '1' then redis.call('DEL', QUEUE) end -- else each has its turn in it
return { 'OPENED' }
