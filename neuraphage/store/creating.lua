-- Included by create and suspend: writes a new task into the outbox, or where it waits for its time or a slot; `held`: it waits for others. `new` has what it is made of.
local function create_task(new, now, cause)
  write({
    spec = new.spec, max_turns = new.max_turns, max_cost_microusd = new.max_cost_microusd,
    status = STATUS.Queued, since = now, created_at = now, saved_at = now,
    marker = FIRST_MARKER, iteration = 0, seq = 1, fence = 0, token = 0, recoveries = 0,
    recoveries_total = 0, reason = new.reason, schema = SCHEMA,
    parent = new.parent, on_parent_end = new.on_parent_end, starts_at = new.starts_at,
    max_tree_turns = new.max_tree_turns, max_running_ms = new.max_running_ms, tree = (new.parent or new.max_tree_turns) and NEVER_TAKEN or nil,
  })
  if new.labels ~= '' then write({ labels = new.labels }) end
  if tostring(new.priority) ~= PRIORITY then write({ priority = new.priority }) end
  redis.call('RPUSH', MESSAGES, new.entry)
  redis.call('ZADD', IDS, now, ID)
  redis.call('ZADD', STATUS_KEY[STATUS.Queued], now, ID)
  tells(cause, 0)
  event(EVENT.TaskCreated, cjson.encode({ name = new.name, starts_at_ms = tonumber(new.starts_at) }), given.events_max)
  if not new.held and enter({ fence = '0', starts_at = new.starts_at }, now) then redis.call('ZADD', OUTBOX, now + given.republish_ms, ID) end
end

-- Notes a new child with its parent, which is the present task.
local function add_child(children, id, wait)
  children[#children + 1] = { id = id, rule = wait, state = EDGE.open }
  redis.call('HSET', TASK, 'children', edge_text(children))
end

-- Has the present task take the one that was made as a child that it does not wait for.
local function adopt_as(id)
  return function(name)
    tells(CAUSE.person, read({ 'iteration' }).iteration)
    add_child(children_of(), id, WAIT.later)
    count_turns()
    event(EVENT.SubtaskSpawned, cjson.encode({ child = id, name = name }), given.events_max)
  end
end
