-- Included by every script about one task, before its own text: nothing is begun that the server would refuse in the
-- midst. A script is not rolled back, so what was written before a refusal would stand alone, and be taken for whole.
-- Two things can refuse a command that has memory and a master: the rules of this user (ACL), and a key of another
-- type than it should have. Both are looked at here, for all that the script may send (uses.py). A claim asks for all that
-- a turn sends: who may not end a turn begins none, and no reply is paid for that could not be stored.
-- Tests hold that table against what the server sees, refuse every command and damage every key in turn.

-- The first command that this user may not run, with its key, or nil. A server before Redis 7 cannot be asked.
local function not_allowed(command, ...)
  if not redis.acl_check_cmd then return nil end
  local known, allowed = pcall(redis.acl_check_cmd, command, ...)
  if known and allowed then return nil end
  return redis.error_reply(string.format(SAY.not_allowed, command, tostring((...))))
end
local function misfit(key, kind)
  local found = redis.call('TYPE', key).ok
  if found == kind or found == 'none' then return nil end
  return redis.error_reply(string.format(SAY.misfit, key, found, kind))
end

-- Why a script may not go on, as an error to return; nil when it may.
local function refusal_of(asks)
  local ran, is_proven = pcall(asks.proven, redis.acl_check_cmd)
  if ran and is_proven then return nil end
  local commands, kinds = asks.listed()
  for _, use in ipairs(commands) do
    local found = not_allowed(unpack(use))
    if found then return found end
  end
  for _, row in ipairs(kinds) do
    local found = misfit(unpack(row))
    if found then return found end
  end
  return nil
end

local refused = refusal_of(ASKS)
if refused then return refused end
