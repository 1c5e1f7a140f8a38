-- Included by admit and settle: what all workers have used of a model's limits. A call counts for a whole window from when
-- the provider may have counted it, so no window of that length ever holds more than the limits, wherever it begins.
-- USED: `kind:amount:task:ticket` each, by when it no longer counts. GATE: the sums, open calls and waiting ones.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local KINDS = { CAPACITY.requests, CAPACITY.input_tokens, CAPACITY.output_tokens }
local most, used = { [KINDS[1]] = given.requests, [KINDS[2]] = given.input_tokens, [KINDS[3]] = given.output_tokens }, {}
-- a limit of less than 0 is none
local is_limited = math.max(most[KINDS[1]], most[KINDS[2]], most[KINDS[3]]) >= 0

local function decoded(field)
  local readable, value = pcall(cjson.decode, redis.call('HGET', GATE, field) or '')
  return readable and value or nil
end

-- Takes away what no longer counts. The provider may have counted an open call later than it was let in, if not much; one
-- that is not over when the longest call would be has lost its worker.
local function look()
  for _, kind in ipairs(KINDS) do used[kind] = tonumber(redis.call('HGET', GATE, kind) or 0) end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', USED, '-inf', now)) do
    local kind, amount, task, ticket = string.match(member, '^([%a_]+):(%d+):([^:]+):([^:]+)$')
    local open = decoded('t:' .. task)
    local is_open = open and open.ticket == ticket
    if is_open and kind ~= KINDS[3] and now < open.counted_by then
      redis.call('ZADD', USED, open.counted_by, member)
    else
      used[kind] = used[kind] - tonumber(amount)
      redis.call('ZREM', USED, member)
      if is_open and kind == KINDS[3] then redis.call('HDEL', GATE, 't:' .. task) end
    end
  end
  if redis.call('ZCARD', USED) == 0 then for _, kind in ipairs(KINDS) do used[kind] = 0 end end
end

local function member_of(kind, amount, ticket)
  return string.format('%s:%.0f:%s:%s', kind, amount, given.task, ticket)
end
local function count(kind, amount, ticket, until_ms)
  if amount <= 0 then return end
  local added = redis.call('ZADD', USED, until_ms, member_of(kind, amount, ticket))
  used[kind] = used[kind] + added * amount
end
local function uncount(kind, amount, ticket)
  used[kind] = used[kind] - redis.call('ZREM', USED, member_of(kind, amount, ticket)) * amount
end

-- Whether a call with this need fits beside what is used and what others need that stand before it.
local function fits(need, before)
  for _, kind in ipairs(KINDS) do
    if most[kind] >= 0 and used[kind] + before[kind] + need[kind] > most[kind] then return false end
  end
  return true
end
local function no_need() return { [KINDS[1]] = 0, [KINDS[2]] = 0, [KINDS[3]] = 0 } end
-- What one call needs; no more than all, or it could never be made.
local function need_of(input, output)
  local need = { [KINDS[1]] = 1, [KINDS[2]] = input, [KINDS[3]] = output }
  for _, kind in ipairs(KINDS) do
    if most[kind] >= 0 then need[kind] = math.min(need[kind], most[kind]) end
  end
  return need
end
local function add(need, more) for _, kind in ipairs(KINDS) do need[kind] = need[kind] + more[kind] end end

local function save()
  for _, kind in ipairs(KINDS) do redis.call('HSET', GATE, kind, used[kind], 'most:' .. kind, most[kind]) end
  redis.call('HSET', GATE, 'window', given.window_ms) -- for people
  for _, key in ipairs({ USED, GATE, QUEUE }) do redis.call('PEXPIRE', key, given.keep_ms) end
end
