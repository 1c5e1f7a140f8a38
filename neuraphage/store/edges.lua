-- Included by scripts that end a task, or put one to work that may wait for others: the graph of dependencies.
-- A task keeps those it waits for in its field `after`: `<task id> <on failure> <state>`, parted by line breaks. The state is that
-- of the awaited task when it was last looked at: EDGE.open, or how it ended. EDGES holds `<awaited> <waiting>` for
-- each that may still change something, so that what ends a task finds in the same script who waits for it.

local function edges_in(text)
  local edges = {}
  for id, rule, state in string.gmatch(text, '(%S+) (%S+) (%S+)') do
    edges[#edges + 1] = { id = id, rule = rule, state = state }
  end
  return edges
end
local function edges_of()
  local text = redis.call('HGET', TASK, 'after')
  return text and edges_in(text) or {}
end
local function holds_up(edge)
  return edge.state == EDGE.open or (edge.rule == ON_FAILURE.block and edge.state ~= EDGE.Completed)
end
local function edge_text(edges)
  local lines = {}
  for i, edge in ipairs(edges) do lines[i] = edge.id .. ' ' .. edge.rule .. ' ' .. edge.state end
  return table.concat(lines, '\n')
end

-- Of children.lua: those that the task has made.
local waits_for_children, look_at_children, leave_children, child_over

-- Whether the task waits for others.
local function waits_for_tasks()
  for _, edge in ipairs(edges_of()) do if holds_up(edge) then return true end end
  return waits_for_children()
end

local function state_of(id)
  local status = redis.pcall('HGET', key_of(id), 'status')
  if type(status) ~= 'string' then return EDGE.gone end
  return TERMINAL[status] and status or EDGE.open
end
-- Whether as many tasks wait for it as may.
local function is_full(id, most)
  return redis.call('ZLEXCOUNT', EDGES, '[' .. id .. ' ', '(' .. id .. '!') >= most
end

-- Looks again at those the task waits for (all, or the one that has `ended`), and does what follows: it begins, is
-- skipped, or waits on. A record that cannot be read is left to repair, and to the poll behind it.
local function reconsider(now, limits, ended)
  if type(redis.pcall('HGET', TASK, 'seq')) ~= 'string' or type(redis.pcall('XLEN', EVENTS)) ~= 'number' then return end
  local row = read(COMMON)
  if not row.status or TERMINAL[row.status] or not tonumber(row.seq) then return end
  tells(CAUSE.dependency, row.iteration)
  local edges, waits, failed, settled = edges_of(), false, nil, {}
  for _, edge in ipairs(edges) do
    if edge.state ~= EDGE.Completed and (not ended or edge.id == ended) then edge.state = state_of(edge.id) end
    if holds_up(edge) then waits = true
    else
      settled[#settled + 1] = edge.id .. ' ' .. ID
      if edge.rule == ON_FAILURE.skip and edge.state ~= EDGE.Completed then failed = failed or edge end
    end
  end
  local set = {}
  if #edges > 0 then set.after = edge_text(edges) end
  waits = look_at_children(set, ended) or waits
  if failed then
    set.seq = row.seq + 1
    local why = string.format(SAY.skipped, failed.id, failed.state)
    end_task(row, STATUS.Cancelled, now, cjson.encode({ reason = why }), set, limits)
  elseif row.status == STATUS.Blocked and not waits then
    set.seq = row.seq + 1
    if queue_task(row, now, STATUS.Queued, REASON.unblocked, set, limits) then wake_later(set.seq, row.iteration) end
  elseif next(set) then
    write(set)
  end
  call_with('ZREM', EDGES, settled)
end

-- Takes a task that waits for others out of work; `set` may carry further fields.
local function hold_back(row, now, set, events_max, detail)
  status_fields(set, row, STATUS.Blocked, now)
  set.detail = detail or cjson.encode({ resource = SAY.others })
  write(set)
  move_status(row, STATUS.Blocked, now)
  place(WAITS, now)
  event(EVENT.TaskBlocked, set.detail, events_max)
  if row.locks then give_locks_up(now) end
end

-- What the end of the present task means for others, in the script that ends it. One after the other, since who is
-- skipped ends too, and may be awaited by further ones.
local pending, working = {}, false
on_end = function(new, now, limits)
  local edges, kept = edges_of(), {}
  for _, edge in ipairs(edges) do
    redis.call('ZREM', EDGES, edge.id .. ' ' .. ID)
    if not holds_up(edge) then kept[#kept + 1] = edge end
  end
  -- who leads a failed task back to work does not mean it to wait again
  if new == STATUS.Failed and #kept < #edges then redis.call('HSET', TASK, 'after', edge_text(kept)) end
  for _, member in ipairs(redis.call('ZRANGEBYLEX', EDGES, '[' .. ID .. ' ', '(' .. ID .. '!')) do
    pending[#pending + 1] = { ID, string.sub(member, #ID + 2), reconsider }
  end
  local parent = redis.call('HGET', TASK, 'parent')
  if parent then pending[#pending + 1] = { ID, parent, child_over } end
  leave_children()
  if working then return end
  working = true
  local at = 1
  while pending[at] do
    local ended, other, act = unpack(pending[at])
    as_task(other, act, now, limits, ended)
    at = at + 1
  end
  working = false
end
