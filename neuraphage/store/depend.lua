-- depend: a task is to wait for another one, or not any more. Only one that no worker has: what runs is paused first.
local on = given.on
local edges, place_of = edges_of(), nil
for i, edge in ipairs(edges) do if edge.id == on then place_of = i end end

local function told(verdict, text)
  local answer = reply(verdict)
  answer[#answer + 1] = text
  return answer
end

-- Only a task that waits for others is put to work by the last of them: a lock may have it Blocked too.
local waited = waits_for_tasks()

local function remove()
  if not place_of then return reply('NO_DEPENDENCY') end
  table.remove(edges, place_of)
  event(EVENT.DependencyRemoved, cjson.encode({ task_id = on, by = given.by }), given.events_max)
  redis.call('HSET', TASK, 'after', edge_text(edges))
  redis.call('ZREM', EDGES, on .. ' ' .. ID)
  remember()
  if waited then reconsider(now, given) end
  return with_woken(reply('ACCEPTED'))
end

local function add()
  local queued = row.status == STATUS.Queued -- for a worker, a slot or its time
  local blocked = row.status == STATUS.Blocked and waited
  if not (queued or blocked or row.status == STATUS.Paused) then return reply('ILLEGAL') end
  local edge = { id = on, rule = given.rule, state = state_of(on) }
  if edge.state == EDGE.gone then return reply('NO_SUCH_TASK') end
  local path = path_from(on, ID, given.walk_max)
  if path then return told('CYCLE', table.concat(path, ' ')) end
  if path == false or #edges >= given.dependencies_max or is_full(on, given.dependants_max) then return reply('TOO_MANY') end
  edges[place_of or #edges + 1] = edge
  event(EVENT.DependencyAdded, cjson.encode({ task_id = on, on_failure = given.rule, by = given.by }), given.events_max)
  redis.call('HSET', TASK, 'after', edge_text(edges))
  redis.call('ZADD', EDGES, 0, on .. ' ' .. ID)
  remember()
  if queued and holds_up(edge) then hold_back(row, now, { seq = seq }, given.events_max) end
  reconsider(now, given)
  return with_woken(reply('ACCEPTED'))
end

if TERMINAL[row.status] then return reply('ILLEGAL') end
if given.kind == SIGNAL.undepend then return remove() end
return add()
