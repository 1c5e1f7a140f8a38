-- cool: the provider has refused a call. Nobody calls this model until the delay is over; a later end is never shortened.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local readable, cool = pcall(cjson.decode, redis.call('HGET', COOLING, given.gate) or '')
local till = math.max(now + given.delay_ms, readable and cool.till or 0)
redis.call('HSET', COOLING, given.gate, cjson.encode({ till = till, why = given.why }))
redis.call('PEXPIRE', COOLING, math.max(redis.call('PTTL', COOLING), till - now + given.keep_ms))
return { tostring(till) }
