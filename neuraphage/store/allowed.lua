-- allowed: whether this user may run what neuraphage needs. access.lua, above, has asked for the commands of the scripts.
-- commands: the others, as JSON: a list of lists. A server before Redis 7 cannot be asked and is tried, on keys of a
-- task that is not there: first what takes away, so that what the second half adds can be taken away again.
if redis.acl_check_cmd then
  for _, command in ipairs(cjson.decode(given.commands)) do
    local found = not_allowed(unpack(command))
    if found then return found end
  end
  return { 'ALLOWED' }
end

local ARGUMENTS = {
  HSET = { ID, '1' }, HGET = { ID }, HMGET = { ID }, HDEL = { ID }, HEXISTS = { ID }, PEXPIRE = { '60000' }, RPUSH = { ID },
  LRANGE = { '0', '-1' }, LINDEX = { '0' }, LTRIM = { '0', '-1' }, LREM = { '1', ID }, XADD = { 'NOMKSTREAM', '*', ID, '1' },
  XTRIM = { 'MAXLEN', '~', '1000000000' }, XDEL = { '0-1' }, ZADD = { '0', ID }, ZREM = { ID }, ZSCORE = { ID },
  ZREMRANGEBYRANK = { '0', '0' }, PUBLISH = { ID }, ZRANGEBYLEX = { '-', '+' }, ZLEXCOUNT = { '-', '+' },
}
local ADDS = { HSET = true, RPUSH = true, XADD = true, ZADD = true }
local UNTRIED = { TIME = true, TYPE = true, COPY = true }
local made = {} -- ids that were added to streams, by key: taken away again, so that nobody reads them
local function try(adds)
  for _, use in ipairs((ASKS.listed())) do
    local command, key = unpack(use)
    if not UNTRIED[command] and (ADDS[command] or false) == adds then
      local given_ids = command == 'XDEL' and made[key]
      local reply = redis.pcall(command, key, unpack(given_ids or ARGUMENTS[command] or {}))
      if command == 'XADD' and type(reply) == 'string' then made[key] = { reply } end
      if type(reply) == 'table' and reply.err then
        return redis.error_reply(string.format(SAY.refused, command, key, reply.err))
      end
    end
  end
  return nil
end
local found = try(false) or try(true)
try(false)
return found or { 'TRIED' }
