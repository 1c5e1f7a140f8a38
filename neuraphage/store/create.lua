-- create: a new task, in the outbox; one that waits for others is Blocked instead. CREATED holds the id that was made under
-- this idempotency key. after: tasks that it waits for, as in its field of that name.
refused = not_allowed('GET', CREATED) or not_allowed('SET', CREATED) or not_allowed('ZSCORE', TOMBSTONES)
if refused then return refused end
local first = redis.call('GET', CREATED)
if first then return { 'EXISTS', first } end
if redis.call('EXISTS', TASK) == 1 or redis.call('ZSCORE', TOMBSTONES, ID) then return { 'EXISTS', ID } end
local edges = given.after ~= '' and edges_in(given.after) or {}
local held = false
for _, edge in ipairs(edges) do
  edge.state = state_of(edge.id)
  if edge.state == EDGE.gone then return { 'NO_SUCH_TASK', edge.id } end
  if is_full(edge.id, given.dependants_max) then return { 'TOO_MANY', edge.id } end
  held = held or holds_up(edge)
end
local now = now_ms()
write({
  spec = given.spec, max_turns = given.max_turns, max_cost_microusd = given.max_cost_microusd,
  status = STATUS.Queued, since = now, created_at = now, saved_at = now,
  marker = FIRST_MARKER, iteration = 0, seq = 1, fence = 0, token = 0, recoveries = 0,
  recoveries_total = 0, reason = given.reason, schema = SCHEMA,
})
if given.labels ~= '' then write({ labels = given.labels }) end
redis.call('RPUSH', MESSAGES, given.entry)
redis.call('SET', CREATED, ID, 'PX', given.key_ttl_ms)
redis.call('ZADD', IDS, now, ID)
redis.call('ZADD', STATUS_KEY[STATUS.Queued], now, ID)
redis.call('ZADD', OUTBOX, now + given.republish_ms, ID)
tells(CAUSE.person, 0)
event(EVENT.TaskCreated, cjson.encode({ name = given.name }), given.events_max)
if #edges > 0 then
  for _, edge in ipairs(edges) do redis.call('ZADD', EDGES, 0, edge.id .. ' ' .. ID) end
  if held then hold_back(read(COMMON), now, { after = edge_text(edges) }, given.events_max)
  else write({ after = edge_text(edges) }) end
  reconsider(now, given)
end
trim_all_events(given.namespace_events_max)
return { 'CREATED', ID }
