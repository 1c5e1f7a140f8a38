-- Included by what writes changes and by claims: the ledger, and the pools that calls of the model reserve their cost of.
-- Fields of LEDGER are `<day> d`, `<day> m <model>` and `<day> l <label>` (none for tasks without one); a value holds the
-- numbers of COUNTED in their order. Fields of POOLS are `limit <pool>`, `used <pool>` and `reserved <pool>`.
local DAY_MS = 86400000

local function numbers_of(value)
  local found = {}
  for one in string.gmatch(value or '', '%d+') do found[#found + 1] = tonumber(one) end
  return found
end
local function whole(amount) return string.format('%.0f', amount) end
local function day_of(now) return math.floor(now / DAY_MS) end

-- Adds numbers to one row. A new one finds no room in a full ledger: it counts under OTHERS.
local function add_row(row, amounts)
  local stored = redis.call('HGET', LEDGER, row)
  local head = string.match(row, '^%d+ [ml] ')
  if not stored and head and redis.call('HLEN', LEDGER) >= given.ledger_rows then
    row = head .. OTHERS
    stored = redis.call('HGET', LEDGER, row)
  end
  local old, sums = numbers_of(stored), {}
  for i = 1, #COUNTED do sums[i] = whole((old[i] or 0) + (amounts[i] or 0)) end
  redis.call('HSET', LEDGER, row, table.concat(sums, ' '))
  return old[1] or 0
end

-- Days before `oldest` become one, number 0, so that the sum of the ledger stays that of all that was spent.
local function fold(oldest)
  for _, field in ipairs(redis.call('HKEYS', LEDGER)) do
    local day, rest = string.match(field, '^(%d+)( .*)$')
    if day and day ~= '0' and tonumber(day) < oldest then
      add_row('0' .. rest, numbers_of(redis.call('HGET', LEDGER, field)))
      redis.call('HDEL', LEDGER, field)
    end
  end
end

local function limits_of(names)
  local stored = pool_values(names, 'limit')
  local chosen, limits = given.pools ~= '' and cjson.decode(given.pools) or {}, {}
  for i, name in ipairs(names) do limits[name] = tonumber(stored[i]) or chosen[name] end
  return limits
end
-- Whether the money of a task comes from any pool but its own.
local function is_pooled()
  local row = read({ 'labels', 'parent', 'children' })
  return row.parent or row.children or next(limits_of(pool_names(row.labels))) ~= nil
end

-- What is used of each pool, in their order.
local function used_of(names, now)
  local used = pool_values(names, 'used')
  used[1] = numbers_of(redis.call('HGET', LEDGER, whole(day_of(now)) .. ' d'))[1]
  for i = 1, #names do used[i] = tonumber(used[i]) or 0 end
  return used
end

-- Adds what a task and those above it may spend, each with all that is below it, to what is known of its pools. Of a task that
-- has neither a parent nor children that is its own limit, which is asked for elsewhere.
local function join_family(row, own, names, limits, used, reserved)
  if not (row.parent or row.children) then return end
  local ids = above(row.parent)
  table.insert(ids, 1, ID)
  for i, id in ipairs(ids) do
    local amounts = redis.call('HMGET', key_of(id), 'max_cost_microusd', 'cost_microusd', 'below', 'held_below', 'reserved')
    local at, name = #names + 1, FAMILY .. id
    limits[name] = tonumber(amounts[1]) -- a record that an earlier release made has none here
    for one = 2, 5 do amounts[one] = tonumber(amounts[one]) or 0 end
    names[at], used[at] = name, amounts[2] + amounts[3]
    reserved[at] = amounts[4] + (i > 1 and amounts[5] or own)
  end
end

-- The first pool that is used up; else the first that has no room for `amount` beside what other calls have reserved; nil
-- when it has. A call that is alone may begin with whatever is left: so a pool is exceeded by one call at most.
local function shortage(amount, spent, now)
  local row = read({ 'labels', 'reserved', 'parent', 'children' })
  local names, own = pool_names(row.labels), tonumber(row.reserved) or 0
  local limits, used, reserved = limits_of(names), used_of(names, now), pool_values(names, 'reserved')
  join_family(row, own, names, limits, used, reserved)
  local busy
  for i, name in ipairs(names) do
    local limit, others = limits[name], math.max(0, (tonumber(reserved[i]) or 0) - own)
    local found = limit and { name, whole(limit), whole(used[i] + spent), whole(others) }
    if limit and used[i] + spent >= limit then return found end
    if limit and others > 0 and used[i] + spent + others + amount > limit then busy = busy or found end
  end
  return busy
end

-- Takes `amount` out of the pools of a task instead of what it holds; nothing where there is no pool.
local function take(amount)
  local row = read({ 'labels', 'reserved', 'parent' })
  local held = tonumber(row.reserved) or 0
  if amount > 0 and not is_pooled() then amount = 0 end
  if amount == held then return end
  hold(amount, row.labels, held)
  add_above(row.parent, 'held_below', amount - held)
  if amount > 0 then redis.call('HSET', TASK, 'reserved', whole(amount)) else redis.call('HDEL', TASK, 'reserved') end
end

-- Tells once of each part of a pool that is used; `before` and `after`: what was used of it, around this write.
local function warn(name, before, after, limit)
  for _, percent in ipairs({ 50, 75, 90 }) do
    if limit and before * 100 < limit * percent and after * 100 >= limit * percent then
      event(EVENT.BudgetWarning, cjson.encode({
        pool = name, percent = percent, used_microusd = after, limit_microusd = limit,
      }), given.events_max)
    end
  end
end

-- What was spent on each model; on that without a name, what nothing is told of.
local function by_model(amounts, spent)
  local rest, found = {}, { [''] = {} }
  for i = 1, #COUNTED do rest[i] = amounts[i] end
  for at = 1, #spent, 3 do
    for i, name in ipairs(COUNTED) do
      if name == spent[at + 1] then
        local amount, row = tonumber(spent[at + 2]), found[spent[at]] or {}
        row[i] = (row[i] or 0) + amount
        rest[i] = rest[i] - amount
        found[spent[at]] = row
      end
    end
  end
  for i = 1, #COUNTED do found[''][i] = (found[''][i] or 0) + rest[i] end
  return found
end

-- Puts what a write adds to the counters of a task into the ledger and the pools. No counter of COUNTED grows without.
local function book(add, spent, now)
  local amounts, any = {}, false
  for i, name in ipairs(COUNTED) do amounts[i] = add[name] or 0; any = any or amounts[i] > 0 end
  if not any then return end
  local row = read({ 'labels', 'cost_microusd', 'max_cost_microusd', 'parent' })
  local names, cost, day = pool_names(row.labels), amounts[1], whole(day_of(now))
  local limits, used = limits_of(names), used_of(names, now)
  if not redis.call('HGET', LEDGER, day .. ' d') then fold(day_of(now) - given.ledger_days) end
  add_row(day .. ' d', amounts)
  for model, of_model in pairs(by_model(amounts, spent)) do
    for _, amount in pairs(of_model) do
      if amount > 0 then add_row(day .. ' m ' .. model, of_model) break end
    end
  end
  if #names == 1 then add_row(day .. ' l ', amounts) end
  for i = 2, #names do
    add_row(day .. ' l ' .. names[i], amounts)
    redis.call('HSET', POOLS, 'used ' .. names[i], whole(used[i] + cost))
  end
  if cost == 0 then return end
  add_above(row.parent, 'below', cost)
  local spent = 'c:' .. day
  redis.call('HSET', TASK, spent, whole((tonumber(redis.call('HGET', TASK, spent)) or 0) + cost))
  local total = tonumber(row.cost_microusd) or 0 -- written already
  warn(POOL.task, total - cost, total, tonumber(row.max_cost_microusd))
  for i, name in ipairs(names) do warn(name, used[i], used[i] + cost, limits[name]) end
end
