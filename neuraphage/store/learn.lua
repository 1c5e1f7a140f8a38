-- learn: what a provider says that it allows is noted for people, and what workers are to keep of it for them.
redis.call('HSET', LEARNED, given.gate, given.told)
redis.call('PEXPIRE', LEARNED, given.learned_ms)
look()
if given.heard ~= '' and hear() then
  redis.call('ZADD', GATES, now, given.gate)
  redis.call('PEXPIRE', GATES, given.keep_ms)
  save()
end
return { 'LEARNED' }
