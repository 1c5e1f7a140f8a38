-- Included by every script about one task, before its own text: nothing is begun that the server would refuse in the
-- midst. A script is not rolled back, so what was written before a refusal would stand alone, and be taken for whole.
-- Two things can refuse a command that has memory and a master: the rules of this user (ACL), and a key of another
-- type than it should have. Both are looked at here, for every script the same: who may not end a turn begins none,
-- and no reply is paid for that could not be stored.
-- Tests hold this list against the text of the scripts, and refuse every command and damage every key in turn.
local USES = {
  { { 'HSET', 'HGET', 'HMGET', 'HDEL', 'HGETALL', 'DEL', 'PEXPIRE', 'PERSIST' }, { TASK, TURN } },
  { { 'HKEYS', 'HEXISTS', 'EXISTS' }, { TASK } },
  { { 'HSET', 'HGET', 'HDEL' }, { SUSPECTS } },
  { { 'RPUSH', 'LRANGE', 'LLEN', 'DEL', 'PEXPIRE', 'PERSIST' }, { MESSAGES, INBOX, WHY } },
  { { 'LINDEX', 'LTRIM' }, { MESSAGES, WHY } },
  { { 'LREM' }, { INBOX } },
  { { 'RPOP' }, { WHY } },
  { { 'XADD', 'XLEN', 'XTRIM', 'DEL', 'PEXPIRE', 'PERSIST' }, { EVENTS } },
  { { 'ZADD', 'ZSCORE', 'ZREMRANGEBYRANK', 'DEL', 'PEXPIRE', 'PERSIST' }, { SIGNALS } },
  { { 'ZADD', 'ZREM', 'ZSCORE' }, { OUTBOX, LEASES, TIMERS, WAITS, RETENTION } },
  { { 'ZADD', 'ZREM' }, { DEADLINES, IDS } },
  { { 'DEL' }, { LIVE } },
  { { 'PUBLISH' }, { NUDGE } },
}
local STATUS_USES = { 'ZADD', 'ZREM' }

-- The first command that this user may not run, with its key, or nil. A server before Redis 7 cannot be asked.
local function not_allowed(command, ...)
  if not redis.acl_check_cmd then return nil end
  local known, allowed = pcall(redis.acl_check_cmd, command, ...)
  if known and allowed then return nil end
  return redis.error_reply('NOPERM this user may not run ' .. command .. ' on ' .. tostring((...)) .. '; nothing was begun')
end
local function first_not_allowed()
  for _, use in ipairs(USES) do
    for _, key in ipairs(use[2]) do
      for _, command in ipairs(use[1]) do
        local refused = not_allowed(command, key)
        if refused then return refused end
      end
    end
  end
  for _, key in pairs(STATUS) do
    for _, command in ipairs(STATUS_USES) do
      local refused = not_allowed(command, key)
      if refused then return refused end
    end
  end
  return not_allowed('TIME') or not_allowed('TYPE', TASK) or not_allowed('COPY', MESSAGES, MESSAGES)
end

-- The types of all keys; a key that is not there fits.
local KINDS = {
  { 'hash', { TASK, TURN, SUSPECTS } },
  { 'list', { MESSAGES, INBOX, WHY } },
  { 'stream', { EVENTS } },
  { 'zset', { SIGNALS, OUTBOX, LEASES, TIMERS, WAITS, DEADLINES, RETENTION, IDS } },
}
local function misfit(key, kind)
  local found = redis.call('TYPE', key).ok
  if found == kind or found == 'none' then return nil end
  return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. found .. ' and should be a ' .. kind .. '; nothing was begun')
end
local function first_misfit()
  for _, row in ipairs(KINDS) do
    for _, key in ipairs(row[2]) do
      local found = misfit(key, row[1])
      if found then return found end
    end
  end
  for _, key in pairs(STATUS) do
    local found = misfit(key, 'zset')
    if found then return found end
  end
  return nil
end

local refused = first_not_allowed()
if not refused and not REPAIRS then refused = first_misfit() end
if refused then return refused end
