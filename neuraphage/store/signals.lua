-- Included by deliver, stop, resume, revive, supersede, limit and model: what people send, once under each key.
local row = read(COMMON)
if not row.status then return { 'NOT_FOUND' } end
refused = unfit()
if refused then return refused end
local now = now_ms()
local seq = row.seq + 1
tells(given.by == 'timeout' and CAUSE.deadline or CAUSE.person, row.iteration)

local function where()
  for name, zset in pairs(PLACES) do
    if redis.call('ZSCORE', zset, ID) then return name end
  end
  return ''
end
local function reply(verdict)
  local now_row = redis.call('HMGET', TASK, 'status', 'seq', 'iteration')
  return { verdict, now_row[1], where(), now_row[2], now_row[3], redis.call('EXISTS', MESSAGES) }
end
if redis.call('ZSCORE', SIGNALS, given.key) then return reply('REPEATED') end
local function remember()
  trim_all_events(given.namespace_events_max)
  redis.call('ZADD', SIGNALS, now, given.key)
  redis.call('ZREMRANGEBYRANK', SIGNALS, 0, -given.signals_max - 1)
end
local function accepted()
  remember()
  return reply('ACCEPTED')
end

-- Limits that a person sets, as fields of the record; an empty one stays as it is.
local function raised_limits()
  local raised = {}
  for _, name in ipairs({ 'max_turns', 'max_cost_microusd', 'max_tree_turns', 'max_running_ms' }) do
    if (given[name] or '') ~= '' then raised[name] = given[name] end
  end
  return raised
end
local function tell_limits(raised)
  event(EVENT.LimitsChanged, cjson.encode({
    max_turns = tonumber(raised.max_turns), max_cost_microusd = tonumber(raised.max_cost_microusd),
    max_tree_turns = tonumber(raised.max_tree_turns),
    max_running_ms = tonumber(raised.max_running_ms), by = given.by,
  }), given.events_max)
end

-- Leads an ended task back to work. The fence is raised, so that no former holder can write. Of children that were over
-- after it nobody has told it.
local function back_to_work(reason, set)
  look_at_children(set)
  set.seq, set.fence, set.recoveries, set.stalls, set.saved_at = seq, row.fence + 1, 0, 0, now
  queue_task(row, now, STATUS.Queued, reason, set, given)
  for _, name in ipairs(PER_TASK) do redis.call('PERSIST', name) end
  redis.call('ZREM', RETENTION, ID)
end

-- Where the model call of the turn stands, as the journal has it; a reply that is there can still be worked off.
local function call_state()
  local readable, entry = pcall(cjson.decode, redis.call('HGET', TURN, MODEL_ENTRY) or '')
  return readable and type(entry) == 'table' and entry.state
end
