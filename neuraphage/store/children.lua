-- Included behind edges.lua: the tasks that a task has made. It keeps them in its field `children`, each as
-- `<task id> <wait> <state>`, parted by line breaks; the state is that of edges. A child has its parent's id in its field
-- `parent`. What came of a child is `r:<task id>` of the parent, written by the script that ends it and kept until a
-- turn has taken it: so it outlives the child's own record, and no further write is needed.
local function children_of()
  local text = redis.call('HGET', TASK, 'children')
  return text and edges_in(text) or {}
end
local function holds_parent(children)
  local one_open, one_over = false, false
  for _, child in ipairs(children) do
    local open = child.state == EDGE.open
    if child.rule == WAIT.all and open then return true end
    if child.rule == WAIT.any then one_open, one_over = one_open or open, one_over or not open end
  end
  return one_open and not one_over
end
waits_for_children = function() return holds_parent(children_of()) end

-- How `id` waits for `goal`, as a list of ids from it to that one: by way of edges, and of children, any of which a task may
-- wait for as long as they are not over. nil when it does not, and false when the graph is too large to tell.
local function path_from(id, goal, most)
  local queue, came_from, at = { id }, { [id] = '' }, 1
  local function visit(from, other)
    if came_from[other] then return end
    came_from[other] = from
    queue[#queue + 1] = other
  end
  while queue[at] do
    if at > most then return false end
    local present = queue[at]
    as_task(present, function()
      if redis.call('EXISTS', TASK) == 0 then return end
      for _, edge in ipairs(edges_of()) do if holds_up(edge) then visit(present, edge.id) end end
      for _, child in ipairs(children_of()) do if child.state == EDGE.open then visit(present, child.id) end end
    end)
    if came_from[goal] then
      local path, step = {}, goal
      while step ~= '' do table.insert(path, 1, step); step = came_from[step] end
      return path
    end
    at = at + 1
  end
  return nil
end

local function outcome_of(id, state)
  local row = redis.pcall('HMGET', key_of(id), 'detail', 'iteration', 'cost_microusd', 'below')
  if row.err then row = {} end
  return cjson.encode({
    state = state, detail = row[1] or nil, turns = tonumber(row[2] or 0),
    cost_microusd = (tonumber(row[3] or 0)) + (tonumber(row[4] or 0)),
  })
end

-- Looks again at children that were not over (all, or the one that has `ended`). Fills `set`, which the caller writes, and
-- tells whether the task waits on; who does not wait any more waits for none.
look_at_children = function(set, ended)
  local children = children_of()
  if #children == 0 then return false end
  for _, child in ipairs(children) do
    if child.state == EDGE.open and (not ended or child.id == ended) then
      child.state = state_of(child.id)
      if child.state ~= EDGE.open then set['r:' .. child.id] = outcome_of(child.id, child.state) end
    end
  end
  local waits = holds_parent(children)
  if not waits then for _, child in ipairs(children) do child.rule = WAIT.later end end
  set.children = edge_text(children)
  return waits
end

-- The parent is told of a child that has ended. It goes on if it has waited for that; it may also wait for something else.
child_over = function(now, limits, child)
  if type(redis.pcall('HGET', TASK, 'seq')) ~= 'string' then return end
  local status = read({ 'status' }).status
  if not status or TERMINAL[status] then return end
  if waits_for_tasks() then return reconsider(now, limits, child) end
  local set = {}
  look_at_children(set, child)
  if next(set) then write(set) end
end

-- A child whose parent is over.
local function end_with_parent(now, limits, parent)
  if type(redis.pcall('HGET', TASK, 'seq')) ~= 'string' then return end
  local row = read(COMMON)
  if not row.status or TERMINAL[row.status] then return end
  tells(CAUSE.dependency, row.iteration)
  local why = string.format(SAY.parent_over, parent, state_of(parent))
  if has_lease() then
    redis.call('HSET', TASK, 'cancel', 1, 'cancel_reason', why)
    redis.call('PUBLISH', NUDGE, ID)
  else
    end_task(row, STATUS.Cancelled, now, cjson.encode({ reason = why }), { seq = row.seq + 1 }, limits)
  end
end

leave_children = function()
  local children = children_of()
  if #children == 0 then return end
  for _, child in ipairs(children) do
    if child.state == EDGE.open then
      if redis.call('HGET', key_of(child.id), 'on_parent_end') == PARENT_END.orphan then
        local held = redis.call('HMGET', key_of(child.id), 'reserved', 'held_below')
        add_above(ID, 'held_below', -(tonumber(held[1]) or 0) - (tonumber(held[2]) or 0))
        redis.call('HDEL', key_of(child.id), 'parent')
        child.state = EDGE.gone
      else
        pending[#pending + 1] = { ID, child.id, end_with_parent }
      end
    end
  end
  redis.call('HSET', TASK, 'children', edge_text(children))
end

local function each_child(act, now, limits)
  for _, child in ipairs(children_of()) do
    if child.state == EDGE.open then as_task(child.id, act, now, limits) end
  end
end
-- A pause goes down the tree, and a resume to those that it had paused: the flag and the detail of such a pause say `parent`.
local pause_below
pause_below = function(now, limits)
  if type(redis.pcall('HGET', TASK, 'seq')) ~= 'string' then return end
  local row = read(COMMON)
  if not row.status or TERMINAL[row.status] or row.status == STATUS.Paused then return end
  tells(CAUSE.person, row.iteration)
  if not has_lease() then
    pause_task(row, now, 'parent', { seq = row.seq + 1 }, limits.events_max)
  elseif not row.pause then
    redis.call('HSET', TASK, 'pause', 'parent')
    redis.call('PUBLISH', NUDGE, ID)
  end
  each_child(pause_below, now, limits)
end
local function paused_with_parent(row)
  if row.status ~= STATUS.Paused then return false end
  local readable, detail = pcall(cjson.decode, redis.call('HGET', TASK, 'detail') or '')
  return readable and type(detail) == 'table' and detail.reason == 'parent'
end
local resume_below
resume_below = function(now, limits)
  if type(redis.pcall('HGET', TASK, 'seq')) ~= 'string' then return end
  local row = read(COMMON)
  if not row.status or TERMINAL[row.status] then return end
  tells(CAUSE.person, row.iteration)
  if paused_with_parent(row) then
    local set = { seq = row.seq + 1 }
    event(EVENT.TaskUnpaused, '{}', limits.events_max)
    if #open_prompts() > 0 and not inbox_ready() then
      status_fields(set, row, STATUS.WaitingForUser, now)
      write(set)
      move_status(row, STATUS.WaitingForUser, now)
      place(WAITS, now)
    elseif waits_for_tasks() then
      hold_back(row, now, set, limits.events_max)
    else
      if queue_task(row, now, STATUS.Queued, REASON.resumed, set, limits) then wake_later(set.seq, row.iteration) end
    end
  elseif row.pause == 'parent' then
    redis.call('HDEL', TASK, 'pause')
  else
    return
  end
  each_child(resume_below, now, limits)
end
