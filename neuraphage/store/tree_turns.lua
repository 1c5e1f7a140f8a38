-- Included by scripts that begin the turns of a task or make families: turns of a task with all that is below it.
-- A task that has a parent, children or such a limit keeps in its field `tree` how many turns it has taken and which the last of them
-- was: `<turns> <resets>:<iteration>`, `-` for none. A turn is taken by the write that announces its call of the model, once,
-- however often that call is announced again; the same write adds it to `turns_below` of all above.
local NEVER_TAKEN = '0 -'
local function turn_name(row) return (row.resets or '0') .. ':' .. row.iteration end

-- From now on the turns of the present task are counted. Those that it has taken before count too.
local function count_turns()
  local row = read({ 'tree', 'iteration', 'resets' })
  if row.tree or not row.iteration then return end
  local begun = redis.call('HEXISTS', TURN, MODEL_ENTRY)
  redis.call('HSET', TASK, 'tree', string.format('%.0f', row.iteration + begun) .. ' ' .. (begun == 1 and turn_name(row) or '-'))
end

-- Of a write that announces or ends the call of a turn: nil where the turn is taken already; else its `tree`, its parent and, where a
-- limit is reached, `full`: the task whose limit it is, the limit and the turns that it counts.
local function turn_to_take(groups)
  local announces = false
  for i = 1, #groups.journal, 2 do announces = announces or groups.journal[i] == MODEL_ENTRY end
  if not announces then return nil end
  local stored = read({ 'resets', 'parent' })
  local name = turn_name({ resets = stored.resets, iteration = row.iteration })
  if string.match(row.tree, '%S+$') == name then return nil end
  local ids = above(stored.parent)
  table.insert(ids, 1, ID)
  for _, id in ipairs(ids) do
    local bound = redis.call('HMGET', key_of(id), 'max_tree_turns', 'tree', 'turns_below')
    local limit = tonumber(bound[1])
    local used = (tonumber(string.match(bound[2] or '', '^%d+')) or 0) + (tonumber(bound[3]) or 0)
    if limit and used >= limit then return { full = { id, string.format('%.0f', limit), string.format('%.0f', used) } } end
  end
  return { tree = string.format('%.0f', string.match(row.tree, '^%d+') + 1) .. ' ' .. name, parent = stored.parent }
end
