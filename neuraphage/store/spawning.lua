-- Included by suspend: what a turn changes of its task's children, in the write that gives the lease back. Each row is what
-- is done, the child's id, and for a new one what it is made of.
local CHILD_WIDTH = 5
local function is_new_child(known, what, id)
  return what == CHILD.new and not known[id] and redis.call('HEXISTS', key_of(id), 'status') == 0
end
-- How many children the task has made, where it has no room for those of these rows; nil where it has. People make
-- children too, so the turn that decided on them may have counted fewer.
local function made_too_many(rows)
  local made, known, new = children_of(), {}, 0
  for _, child in ipairs(made) do known[child.id] = child end
  for i = 1, #rows, CHILD_WIDTH do
    if is_new_child(known, rows[i], rows[i + 1]) then new = new + 1 end
  end
  return new > 0 and #made + new > given.max_children and #made or nil
end
local function change_children(rows, now)
  local children, known = children_of(), {}
  for _, child in ipairs(children) do known[child.id] = child end
  for i = 1, #rows, CHILD_WIDTH do
    local what, id, more = rows[i], rows[i + 1], rows[i + 2]
    if is_new_child(known, what, id) then
      local new = cjson.decode(more)
      new.parent, new.reason, new.spec, new.entry = ID, REASON.user_request, rows[i + 3], rows[i + 4]
      as_task(id, create_task, new, now, CAUSE.worker)
      event(EVENT.SubtaskSpawned, cjson.encode({ child = id, name = new.name }), given.events_max)
      add_child(children, id, new.wait)
      if redis.call('ZSCORE', OUTBOX, id) then woken[#woken + 1] = id .. ' 1 0' end -- else it stands in line
    elseif what == CHILD.wait and known[id] then
      known[id].rule = more
    end
  end
  if #rows > 0 then
    redis.call('HSET', TASK, 'children', edge_text(children))
    count_turns()
  end
end
