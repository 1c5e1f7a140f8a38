-- Included by commit, suspend and finish: the guard and the writing of one set of changes.
-- After the arguments come the groups, each a count and its items (see store/encode.py).
local token = given.token
local row = read(COMMON)
tells(CAUSE.worker, row.iteration, given.fence)

-- nil when the write may go on; else the verdict. The replay check comes before the fence check. A task that is gone
-- has no fence, so it is stale.
local function refusal()
  if row.claim == given.claim and tonumber(row.token) == token then return 'REPLAY' end
  if row.status == STATUS.Cancelled then return 'CANCELLED' end
  if TERMINAL[row.status] then return 'STALE' end
  if row.fence ~= given.fence or row.claim ~= given.claim or not has_lease() then return 'STALE' end
  if tonumber(row.token) ~= token - 1 then return 'LOST' end
  -- all moves below lead out of Running: one without a row would be met in the midst of the writes
  if row.status ~= STATUS.Running then error(string.format(SAY.no_move, row.status)) end
  return nil
end

-- The groups by name, each a list, and what follows them; nothing is written.
local function parse_groups()
  local groups, at = {}, FIRST
  for _, group in ipairs(GROUPS) do
    local items, size = {}, number(group[1], ARGV[at]) * group[2]
    for i = 1, size do items[i] = ARGV[at + i] end
    groups[group[1]] = items
    at = at + size + 1
  end
  return groups, ARGV[at]
end

-- What the changes add to each counter.
local function added(groups)
  local add = {}
  for i = 1, #groups.add, 2 do add[groups.add[i]] = tonumber(groups.add[i + 1]) end
  return add
end

-- Why the call that the changes announce may not begin: the pool that has no room for it; nil when it may.
local function refused_by(groups, now)
  local amount = tonumber(given.reserve) or 0
  return amount > 0 and shortage(amount, added(groups).cost_microusd or 0, now) or nil
end

-- Fields of the task hash that the changes set.
local function change_fields(groups, now)
  local set = { token = token, saved_at = now }
  if row.verdict ~= '' then set.verdict = '' end -- the verdict belongs to the token
  if given.marker ~= '' then set.marker = given.marker end
  local names = {}
  for i = 1, #groups.add, 2 do names[#names + 1] = groups.add[i] end
  if #names > 0 then
    local old = redis.call('HMGET', TASK, unpack(names))
    for i, name in ipairs(names) do
      set[name] = string.format('%.0f', (tonumber(old[i]) or 0) + tonumber(groups.add[2 * i]))
    end
  end
  if given.outcome == '1' and row.recoveries ~= '0' then set.recoveries = 0 end
  if given.outcome == '1' and (row.stalls or '0') ~= '0' then set.stalls = 0 end
  for i = 1, #groups.opened, 3 do set['p:' .. groups.opened[i]] = groups.opened[i + 1] end
  for i = 1, #groups.grants, 2 do set['g:' .. groups.grants[i]] = groups.grants[i + 1] end
  -- what a person has set meanwhile stays
  if groups.model[1] and (redis.call('HMGET', TASK, 'model')[1] or '') == groups.model[1] then set.model = groups.model[2] end
  return set
end

-- Writes the changes. What grows comes first, then the task hash with the token, by which a repeat is known: a repeat is
-- never told COMMITTED over a conversation or a journal that is not there. `keep_journal` is false when the turn ends.
local function apply(groups, set, keep_journal)
  call_with('RPUSH', MESSAGES, groups.entries)
  if keep_journal then call_with('HSET', TURN, groups.journal) end
  write(set)
  if #groups.add > 0 then book(added(groups), groups.spent, set.saved_at) end
  if given.reserve ~= '' then take(tonumber(given.reserve)) end
  for _, value in ipairs(groups.consumed) do redis.call('LREM', INBOX, 1, value) end
  for i = 1, #groups.opened, 3 do
    local answered = redis.call('HEXISTS', TASK, 'a:' .. groups.opened[i]) == 1
    if groups.opened[i + 2] ~= '0' and not answered then redis.call('ZADD', DEADLINES, groups.opened[i + 2], ID .. '|' .. groups.opened[i]) end
  end
  for _, prompt in ipairs(groups.closed) do
    redis.call('HDEL', TASK, 'p:' .. prompt, 'a:' .. prompt)
    redis.call('ZREM', DEADLINES, ID .. '|' .. prompt)
  end
  for i = 1, #groups.children, 5 do
    if groups.children[i] == CHILD.taken then redis.call('HDEL', TASK, 'r:' .. groups.children[i + 1]) end
  end
  for i = 1, #groups.events, 2 do event(groups.events[i], groups.events[i + 1], given.events_max) end
  if set.model then event(EVENT.ModelChanged, groups.model[3], given.events_max) end
end

-- Answers of suspend and finish are stored as verdict, so that a repeat gets the same one. A commit stores none:
-- a suspend or finish under the token of a commit is no repeat, and was never written.
local function settled(status, where, seq, iteration)
  return { 'COMMITTED', status, where, tostring(seq), tostring(iteration) }
end
local function replayed()
  if not row.verdict or row.verdict == '' then return { 'LOST' } end -- without it nothing says what was written
  return cjson.decode(row.verdict)
end
