-- Shared by every script about one task. Validate first, write last; the first write of a script is one
-- that grows memory (HSET, RPUSH), so a full, read-only or failing server refuses the script whole.
local FIRST_MARKER = '{"name":"' .. MARKER.task_created .. '"}'

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function id_of() return string.match(TASK, ':task:(.+)$') end
local ID = id_of()
local function key_of(id) return string.sub(TASK, 1, #TASK - #ID) .. id end

-- Reads named fields of the task hash into a table; missing fields are absent.
local function read(fields)
  local values, row = redis.call('HMGET', TASK, unpack(fields)), {}
  for i, name in ipairs(fields) do if values[i] then row[name] = values[i] end end
  return row
end

local COMMON = { 'status', 'since', 'fence', 'claim', 'token', 'verdict', 'owner', 'pause', 'cancel', 'seq',
  'iteration', 'prompts', 'recoveries', 'recoveries_total', 'marker', 'saved_at', 'reason', 'retry_count',
  'lease_ms', 'stalls', 'trail', 'short', 'locks', 'admission', 'starts_at', 'max_running_ms', 'held_from', 'tree' }

-- One command with any number of arguments, in as many calls as it takes: Lua unpacks no more than 8,000 at once,
-- and an error in mid-script would leave it half done. The part is even, since HSET takes pairs.
local PART = 1000
local function call_with(command, key, items)
  for i = 1, #items, PART do redis.call(command, key, unpack(items, i, math.min(i + PART - 1, #items))) end
end

-- Writes a table of fields.
local function write(fields)
  local flat = {}
  for name, value in pairs(fields) do flat[#flat + 1] = name; flat[#flat + 1] = value end
  call_with('HSET', TASK, flat)
end

-- The pools that the money of a task comes from: that of the day, then one of each of its labels.
local function pool_names(labels)
  local names = { POOL.day }
  for label in string.gmatch(labels or '', '[^\n]+') do names[#names + 1] = label end
  return names
end
local function pool_values(names, what)
  local fields = {}
  for i, name in ipairs(names) do fields[i] = what .. ' ' .. name end
  return redis.call('HMGET', POOLS, unpack(fields))
end

-- Has a task hold `amount` of its pools instead of `held`.
local function hold(amount, labels, held)
  local names, fields = pool_names(labels), {}
  local old = pool_values(names, 'reserved')
  for i, name in ipairs(names) do
    fields[#fields + 1] = 'reserved ' .. name
    fields[#fields + 1] = string.format('%.0f', math.max(0, (tonumber(old[i]) or 0) + amount - held))
  end
  call_with('HSET', POOLS, fields)
end

-- The tasks above one whose parent this is, the nearest first; none that is deleted.
local function above(parent)
  local ids = {}
  while parent do
    local row = redis.pcall('HMGET', key_of(parent), 'status', 'parent')
    if row.err or not row[1] then break end
    ids[#ids + 1] = parent
    parent = row[2]
  end
  return ids
end
local function add_above(parent, name, amount)
  for _, id in ipairs(amount ~= 0 and above(parent) or {}) do
    local old = tonumber(redis.call('HGET', key_of(id), name)) or 0
    redis.call('HSET', key_of(id), name, string.format('%.0f', math.max(0, old + amount)))
  end
end

-- Gives back what a task holds of its pools that is not at work any more: no call of it is to keep others waiting.
local function release()
  local row = read({ 'labels', 'reserved', 'parent' })
  if not row.reserved then return end
  hold(0, row.labels, tonumber(row.reserved))
  add_above(row.parent, 'held_below', -tonumber(row.reserved))
  redis.call('HDEL', TASK, 'reserved')
end

-- What events of this script carry beside their data: the turn, the fence where the holder of the lease writes, and who or
-- what caused them. A script says so as soon as it has read the record. Read back by store/event_stream.py.
local told_at, told_cause = ' ', ''
local function tells(cause, turn, fence) told_at, told_cause = (turn or '') .. ' ' .. (fence or ''), cause end

-- Writes an event: to the stream of the task, and under the same id to that of the namespace, which has kind and task.
-- `cause` stands instead of the script's own.
local function event(kind, data, events_max, cause)
  local stamp = told_at .. ' ' .. (cause or told_cause) .. ' ' .. SCHEMA
  local id = redis.call('XADD', ALL_EVENTS, '*', kind, ID)
  if type(redis.pcall('XADD', EVENTS, id, 'k', kind, 'd', data, 's', stamp)) == 'table' then
    -- The task's stream is ahead: the clock has gone back, or an older release has written in this millisecond.
    redis.call('XDEL', ALL_EVENTS, id)
    id = redis.call('XADD', EVENTS, '*', 'k', kind, 'd', data, 's', stamp)
    redis.call('XADD', ALL_EVENTS, id, kind, ID)
  end
  if redis.call('XLEN', EVENTS) > events_max then redis.call('XTRIM', EVENTS, 'MAXLEN', '~', events_max) end
end

-- Shortens the stream of the namespace. Each new task, claim and request comes by here, not each event.
local function trim_all_events(most)
  if redis.call('XLEN', ALL_EVENTS) > most then redis.call('XTRIM', ALL_EVENTS, 'MAXLEN', '~', most) end
end

-- Fills `set`, which the caller writes before anything else. A move without a row in the lifecycle table is a fault.
local function status_fields(set, row, new, now)
  if row.status == new then return end
  if not string.find(MOVES, ' ' .. row.status .. '>' .. new .. ' ', 1, true) then
    error(string.format(SAY.no_move, row.status, new))
  end
  set.status, set.since = new, now
end

local function move_status(row, new, now)
  if row.status ~= new then
    redis.call('ZREM', STATUS_KEY[row.status], ID)
    redis.call('ZADD', STATUS_KEY[new], now, ID)
  end
end

local enter, leave -- of slots.lua: whether a task may begin, and what it gives back when it is at rest

local function put(target, score)
  for _, zset in pairs(PLACES) do
    if zset ~= target then redis.call('ZREM', zset, ID) end
  end
  if target then redis.call('ZADD', target, score, ID) end
end

-- Puts the task in one of the four places (nil: none) and takes it out of the others. At rest it holds no slot.
local function place(target, score)
  put(target, score)
  if target == WAITS or not target then leave() end
end

local function has_lease() return redis.call('ZSCORE', LEASES, ID) end

-- Open prompts stand as fields p:<prompt id>; an accepted answer adds a:<prompt id>.
local function open_prompts()
  local open = {}
  for _, field in ipairs(redis.call('HKEYS', TASK)) do
    local prompt = string.match(field, '^p:(.+)$')
    if prompt then open[#open + 1] = prompt end
  end
  return open
end

-- Whether an open prompt waits for a person's next words, of whatever content.
local function talks(prompt)
  local readable, stored = pcall(cjson.decode, redis.call('HGET', TASK, 'p:' .. prompt) or '')
  return readable and type(stored) == 'table' and stored.kind == PROMPT.conversation
end

-- Whether the model has ended its turn and waits for a person's next words.
local function talking()
  for _, prompt in ipairs(open_prompts()) do
    if talks(prompt) then return true end
  end
  return false
end

-- What an inbox value is: `i` for words to the model, `a` with the prompt that it answers. Values are
-- `<a|i><prompt id>\n<json>`. Schema 1 kept the words of a conversation as an answer to a prompt whose id says so.
local function sent(value)
  local kind, prompt = string.match(value, '^(%a)([^\n]*)\n')
  if kind == 'a' and string.sub(prompt, -13) == ':conversation' then return 'i', '' end
  return kind, prompt
end

-- Whether the inbox holds what the task waits for: an answer to an open prompt, or words for a conversation.
local function inbox_ready()
  local open, waits_for_words = {}, talking()
  for _, prompt in ipairs(open_prompts()) do open[prompt] = true end
  for _, value in ipairs(redis.call('LRANGE', INBOX, 0, -1)) do
    local kind, prompt = sent(value)
    if kind == 'a' and open[prompt] then return true end
    if kind == 'i' and waits_for_words then return true end
  end
  return false
end

-- What limits a task was asked for with; a record that an earlier release made has no others.
local function limits_of_spec()
  local readable, spec = pcall(cjson.decode, read({ 'spec' }).spec or '')
  return readable and type(spec) == 'table' and spec.limits or {} -- a broken one is the worker's to refuse
end

-- Whether the limits forbid the next model call, with the fields of `set` in place of the stored ones. The rule is
-- that of decide/limits.py.
local function at_limit(set)
  local row = read({ 'max_turns', 'max_cost_microusd', 'iteration', 'turns_from', 'cost_microusd', 'below',
    'max_running_ms', 'running_ms' })
  local function value(name) return tonumber(set[name] or row[name]) end
  local first = (not value('max_turns') or not value('max_cost_microusd')) and limits_of_spec() or {}
  local function reached(used, most) return most ~= nil and used >= most end
  return reached((value('iteration') or 0) - (value('turns_from') or 0), value('max_turns') or first.max_turns)
    or reached((value('cost_microusd') or 0) + (value('below') or 0), value('max_cost_microusd') or first.max_cost_microusd)
    or reached(value('running_ms') or 0, value('max_running_ms'))
end

-- Notes what a lease adds to the time at work, where that is limited: `held_from` is when it was taken.
local function add_held_time(row, set, till)
  if not row.held_from then return end
  local before = tonumber(redis.call('HGET', TASK, 'running_ms')) or 0
  set.running_ms = string.format('%.0f', before + math.max(0, till - (tonumber(row.held_from) or till)))
end

local PER_TASK = { TASK, MESSAGES, TURN, INBOX, EVENTS, SIGNALS, WHY }

local on_end -- of edges.lua: what the end of the task means for those that wait for it
local give_locks_up -- of locks.lua: the task needs its locks no more

-- Ends the task: out of every place, prompts and flags gone, keys on their way out.
-- `set` may carry further fields; detail is JSON; limits are the script's arguments of those names.
local function end_task(row, new, now, detail, set, limits)
  status_fields(set, row, new, now)
  set.detail = detail
  set.saved_at = now
  write(set)
  release()
  move_status(row, new, now)
  place(nil)
  local gone = { 'pause', 'cancel', 'cancel_reason', 'starts_at' } -- unsafe_until stays: it holds for a retry too
  for _, prompt in ipairs(open_prompts()) do
    gone[#gone + 1] = 'p:' .. prompt; gone[#gone + 1] = 'a:' .. prompt
    redis.call('ZREM', DEADLINES, ID .. '|' .. prompt)
  end
  call_with('HDEL', TASK, gone)
  redis.call('HDEL', SUSPECTS, ID)
  local is_asked_for = new == STATUS.Cancelled and told_cause ~= CAUSE.dependency
  event(EVENT['Task' .. new], detail, limits.events_max, is_asked_for and CAUSE.person or nil)
  redis.call('ZADD', RETENTION, now + limits.conversation_ms, ID)
  for _, key in ipairs({ TASK, MESSAGES, EVENTS, WHY }) do redis.call('PEXPIRE', key, limits.conversation_ms) end
  for _, key in ipairs({ TURN, INBOX, SIGNALS }) do redis.call('PEXPIRE', key, limits.exec_ms) end
  on_end(new, now, limits)
  if row.locks then give_locks_up(now, true) end
end

local function cancel_detail(row)
  local reason = redis.call('HGET', TASK, 'cancel_reason')
  return cjson.encode({ reason = reason or '' })
end

-- Puts a task into Paused. `why` is user, recovery or money; the latter with the pool that has run out.
local function pause_task(row, now, why, set, events_max, about)
  if why == 'user' and row.pause == 'parent' then why = row.pause end
  status_fields(set, row, STATUS.Paused, now)
  local detail = { reason = why, from = row.status }
  detail[why == 'money' and 'shortage' or SUSPEND_TO.anomaly] = about
  set.detail = cjson.encode(detail)
  write(set)
  release()
  redis.call('HDEL', TASK, 'pause')
  move_status(row, STATUS.Paused, now)
  place(WAITS, now)
  event(EVENT.TaskPaused, set.detail, events_max, why == 'user' and CAUSE.person or nil)
  if row.locks then give_locks_up(now) end
end

-- Puts the task in the outbox, for the caller to publish, or in line for a slot. Answers whether it is in the outbox.
local function queue_task(row, now, new, reason, set, limits)
  status_fields(set, row, new, now)
  if reason then set.reason = reason end
  write(set)
  move_status(row, new, now)
  local may_begin = new ~= STATUS.Queued or enter(row, now)
  if may_begin then place(OUTBOX, now + limits.republish_ms) end
  return may_begin
end

-- Keeps a decision of the sweep with its readings, for people who ask why. `text` is JSON, see model/recovery.py.
local function note_decision(text, now, why_max)
  redis.call('RPUSH', WHY, cjson.encode({ at_ms = now, reading = text }))
  redis.call('LTRIM', WHY, -why_max, -1)
end
