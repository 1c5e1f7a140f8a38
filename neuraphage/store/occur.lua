-- occur: the task of one time of a schedule, made in the write that sets the schedule's next time. So however many sweeps
-- see the time, and wherever they die, it has one task. definition: as the caller has read it.
refused = not_allowed('HGET', SCHEDULES, '') or not_allowed('HGET', STATES, '') or not_allowed('HSET', STATES, '', '')
  or not_allowed('ZSCORE', TOMBSTONES, '') or unfit()
if refused then return refused end
local now = now_ms()
local readable, state = pcall(cjson.decode, redis.call('HGET', STATES, given.schedule) or '')
if not readable or state.paused or state.next_ms ~= given.due_ms or given.due_ms > now then return { 'STALE' } end
if redis.call('HGET', SCHEDULES, given.schedule) ~= given.definition then return { 'STALE' } end

local last = type(state.last_task) == 'string' and redis.pcall('HMGET', key_of(state.last_task), 'status', 'fence')
local is_at_work = last and last[1] and not TERMINAL[last[1]]
local function may_make()
  if redis.call('EXISTS', TASK) == 1 or redis.call('ZSCORE', TOMBSTONES, ID) then return false end
  if not is_at_work then return true end
  -- of those that wait for the one before, one is enough
  if given.overlap == OVERLAP.queue and last[2] ~= '0' then return true end
  state.skipped = (state.skipped or 0) + 1
  return false
end
local makes = may_make()
if makes then
  create_task({
    spec = given.spec, entry = given.entry, name = given.name, labels = given.labels, priority = given.priority,
    held = is_at_work, reason = given.reason, max_turns = given.max_turns, max_cost_microusd = given.max_cost_microusd,
    max_tree_turns = given.max_tree_turns ~= '' and given.max_tree_turns or nil,
    max_running_ms = given.max_running_ms ~= '' and given.max_running_ms or nil,
  }, now, CAUSE.sweep)
  if is_at_work then
    redis.call('ZADD', EDGES, 0, state.last_task .. ' ' .. ID)
    local edge = { id = state.last_task, rule = ON_FAILURE.go_on, state = EDGE.open }
    hold_back(read(COMMON), now, { after = edge_text({ edge }) }, given.events_max)
  end
  state.last_task, state.last_ms, state.made = ID, given.due_ms, (state.made or 0) + 1
end
state.next_ms = given.next_ms
redis.call('HSET', STATES, given.schedule, cjson.encode(state))
trim_all_events(given.namespace_events_max)
if not makes then return { 'SKIPPED' } end
return { 'MADE', redis.call('ZSCORE', OUTBOX, ID) and 1 or 0 }
