-- create: a new task, in the outbox; one that waits for others is Blocked instead. CREATED holds the id that was made under
-- this idempotency key. after: tasks that it waits for, as in its field of that name. parent: the task that is to be told
-- of its end, and that it is cancelled with. starts_at: before which it does not begin.
-- Answers the id and, where it is in the outbox, what its message has.
local function answered(verdict, id)
  if not redis.call('ZSCORE', OUTBOX, id) then return { verdict, id } end
  local row = redis.pcall('HMGET', key_of(id), 'seq', 'iteration')
  return { verdict, id, row[1] or '', row[2] or '' }
end
refused = not_allowed('GET', CREATED) or not_allowed('SET', CREATED) or not_allowed('ZSCORE', TOMBSTONES)
if refused then return refused end
refused = unfit()
if refused then return refused end
local first = redis.call('GET', CREATED)
if first then return answered('EXISTS', first) end
if redis.call('EXISTS', TASK) == 1 or redis.call('ZSCORE', TOMBSTONES, ID) then return answered('EXISTS', ID) end
local now = now_ms()
local starts_at = given.starts_at ~= '' and given.starts_at or nil
if starts_at and tonumber(starts_at) <= now then return { 'PAST', ID, now } end
local edges = given.after ~= '' and edges_in(given.after) or {}
local held = false
for _, edge in ipairs(edges) do
  edge.state = state_of(edge.id)
  if edge.state == EDGE.gone then return { 'NO_SUCH_TASK', edge.id } end
  if is_full(edge.id, given.dependants_max) then return { 'TOO_MANY', edge.id } end
  held = held or holds_up(edge)
end
local parent = given.parent ~= '' and given.parent or nil
if parent then
  local status = redis.pcall('HGET', key_of(parent), 'status')
  if type(status) ~= 'string' then return { 'NO_SUCH_TASK', parent } end
  if TERMINAL[status] then return { 'PARENT_OVER', parent } end
  local made = 0
  as_task(parent, function() made = #children_of() end)
  if made >= given.max_children then return { 'NO_ROOM', parent } end
  for _, edge in ipairs(edges) do -- who waits for one that its parent keeps waiting never begins
    local path = path_from(edge.id, parent, given.walk_max)
    if path == false then return { 'TOO_MANY', edge.id } end
    if path then return { 'CYCLE', edge.id } end
  end
end
create_task({
  spec = given.spec, entry = given.entry, name = given.name, labels = given.labels, priority = given.priority, held = held, reason = given.reason,
  max_turns = given.max_turns, max_cost_microusd = given.max_cost_microusd,
  max_tree_turns = given.max_tree_turns ~= '' and given.max_tree_turns or nil,
  max_running_ms = given.max_running_ms ~= '' and given.max_running_ms or nil,
  parent = parent, on_parent_end = given.on_parent_end ~= '' and given.on_parent_end or nil, starts_at = starts_at,
}, now, CAUSE.person)
if parent then as_task(parent, adopt_as(ID), given.name) end
redis.call('SET', CREATED, ID, 'PX', given.key_ttl_ms)
if #edges > 0 then
  for _, edge in ipairs(edges) do redis.call('ZADD', EDGES, 0, edge.id .. ' ' .. ID) end
  if held then hold_back(read(COMMON), now, { after = edge_text(edges) }, given.events_max)
  else write({ after = edge_text(edges) }) end
  reconsider(now, given)
end
trim_all_events(given.namespace_events_max)
return answered('CREATED', ID)
