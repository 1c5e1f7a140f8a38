-- repair: hold one task against its record, and put right what contradicts it. The record is believed; places, indexes
-- and expiries follow from it. Beside running workers nothing is lost: a lease whose record agrees is left alone, and
-- where it is not clear who acts, fence and seq are raised, so that a former holder can write no more.
-- mode: look (only tell), list (only add to the index of all ids), repair. deadlines, edges, line: members in question,
-- locks: resources at which it stands for no reason (JSON lists).
-- Answers: verdict (SOUND, FOUND, REPAIRED, LEFT: a person must look; NEWER), then one sentence a finding.
local mode, aside = given.mode, given.aside
local fix = mode == REPAIR_MODE.repair
local now = now_ms()
local found, left = {}, false
local function tell(text, ...) found[#found + 1] = string.format(text, ...) end
local function answer()
  local verdict = #found == 0 and 'SOUND' or not fix and 'FOUND' or left and 'LEFT' or 'REPAIRED'
  return { verdict, unpack(found) }
end
for _, key in ipairs({ TASK, EVENTS }) do
  refused = not_allowed('PTTL', key) or not_allowed('RENAME', key, aside .. '0')
  if refused then return refused end
end
refused = unfit()
if refused then return refused end

-- keys of another type
local lost = {}
for _, row in ipairs({
  { TASK, 'hash', SAY.record }, { MESSAGES, 'list', SAY.conversation }, { TURN, 'hash', SAY.journal },
  { INBOX, 'list', SAY.inbox }, { EVENTS, 'stream', SAY.history }, { SIGNALS, 'zset', SAY.signals },
  { WHY, 'list', SAY.decisions },
}) do
  if misfit(row[1], row[2]) then
    tell(SAY.misfit, row[3])
    lost[row[1]] = row[3]
  end
end
if lost[TASK] then left = true; return answer() end
if fix then
  for key, name in pairs(lost) do
    local target = aside .. ID .. ':' .. string.gsub(name, ' ', '-') .. ':' .. string.format('%.0f', now)
    redis.call('RENAME', key, target)
    redis.call('PEXPIRE', target, given.conversation_ms)
  end
elseif next(lost) then
  return answer() -- nothing further can be read until it is put aside
end

local row = read(COMMON)
tells(CAUSE.repair, row.iteration)
local places, inside = PLACES, {}
local count = 0
for name, zset in pairs(places) do
  inside[name] = tonumber(redis.call('ZSCORE', zset, ID))
  if inside[name] then count = count + 1 end
end
local retained = redis.call('ZSCORE', RETENTION, ID)
local function listed(status) return redis.call('ZSCORE', STATUS_KEY[status], ID) end
local function names_of(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return #names > 0 and table.concat(names, '+') or SAY.no_place
end

-- members of deadlines whose prompt is not open
for _, member in ipairs(cjson.decode(given.deadlines)) do
  local prompt = string.match(member, '|(.*)$') or ''
  if redis.call('HEXISTS', TASK, 'p:' .. prompt) == 0 and redis.call('ZSCORE', DEADLINES, member) then
    tell(SAY.stray_deadline)
    if fix then redis.call('ZREM', DEADLINES, member) end
  end
end
-- the graph: of the index of edges only what the record waits for
local wanted = {}
for _, edge in ipairs(TERMINAL[row.status] and {} or edges_of()) do
  local member = edge.id .. ' ' .. ID
  if holds_up(edge) then wanted[member] = true end
  if holds_up(edge) and not redis.call('ZSCORE', EDGES, member) then
    tell(SAY.no_edge, edge.id)
    if fix then redis.call('ZADD', EDGES, 0, member) end
  end
end
for _, member in ipairs(cjson.decode(given.edges)) do
  if not wanted[member] and redis.call('ZSCORE', EDGES, member) then
    tell(SAY.stray_edge)
    if fix then redis.call('ZREM', EDGES, member) end
  end
end
check_line(row.admission, fix, tell)
-- locks: of the hash of all locks only what the record says, and of the record what a task of its status may say
local locks, own_locks = locking(now), nil
if row.locks then
  own_locks = locks.own_locks(row.locks)
  local is_out_of_place = own_locks.state == LOCK.waiting and row.status ~= STATUS.Blocked
  if not own_locks.state or TERMINAL[row.status] or is_out_of_place then
    tell(SAY.stray_locks)
    if fix then give_locks_up(now, true) end
    own_locks = nil
  end
end
local has_place = {}
for _, need in ipairs(own_locks and own_locks.state ~= LOCK.late and own_locks.needs or {}) do
  for _, line in ipairs(locks.lines_of(need.resource)) do
    if line.id == ID and line.state == own_locks.state then has_place[need.resource] = true end
  end
  if not has_place[need.resource] then
    tell(SAY.no_lock, need.resource)
    if fix then locks.add(need.resource, own_locks.state, need.mode) end
    has_place[need.resource] = true
  end
end
for _, resource in ipairs(cjson.decode(given.locks)) do
  if locks.stands_at(resource) and not has_place[resource] then
    tell(SAY.stray_lock, resource)
    if fix then
      locks.leave({ { resource = resource } })
      locks.wake_all({ { resource = resource } })
    end
  end
end
-- a suspicion may outlive its lease, and names the expiry that it was made for
if fix and not inside.leases then redis.call('HDEL', SUSPECTS, ID) end

local function without_record()
  local rest = {}
  for _, key in ipairs(PER_TASK) do if redis.call('EXISTS', key) == 1 then rest[#rest + 1] = key end end
  if count > 0 then
    tell(SAY.no_such_task, names_of(inside))
    if fix then place(nil) end
  end
  if retained then return end -- ended, and its keys have expired: delete removes the rest
  local in_index = redis.call('ZSCORE', IDS, ID)
  for status in pairs(STATUS_KEY) do in_index = in_index or listed(status) end
  if #rest > 0 then
    tell(SAY.rests)
    if not fix then return end
    redis.call('ZADD', RETENTION, now + given.conversation_ms, ID)
    for _, key in ipairs(rest) do redis.call('PEXPIRE', key, given.conversation_ms) end
  elseif in_index then
    tell(SAY.listed_nothing)
    if not fix then return end
    redis.call('ZREM', IDS, ID)
    for _, zset in pairs(STATUS_KEY) do redis.call('ZREM', zset, ID) end
  end
end
if redis.call('EXISTS', TASK) == 0 then without_record(); return answer() end

if not redis.call('ZSCORE', IDS, ID) then
  if mode ~= REPAIR_MODE.list then tell(SAY.not_in_ids) end
  local made = tonumber(redis.call('HGET', TASK, 'created_at')) or tonumber(row.since) or now
  if mode ~= REPAIR_MODE.look then redis.call('ZADD', IDS, made, ID) end
end
if (tonumber(redis.call('HGET', TASK, 'schema') or 1) or 1) > SCHEMA then return { 'NEWER', unpack(found) } end
if not row.status or not STATUS_KEY[row.status] then
  tell(row.status and SAY.unknown_status or SAY.no_status)
  left = true
  return answer()
end

local status = row.status
local function marker_of()
  local decoded, marker = pcall(cjson.decode, row.marker or '')
  return decoded and type(marker) == 'table' and marker or nil
end
local function fail(text)
  tell('%s', text)
  if fix then
    if not marker_of() then redis.call('HSET', TASK, 'marker', FIRST_MARKER) end -- so that it can be shown
    end_task(row, STATUS.Failed, now, cjson.encode({ error = string.format(SAY.unusable, text), recoverable = false }), {}, given)
    status = STATUS.Failed
    count, inside, retained = 0, {}, true
  end
end
local function whole(name) return string.match(row[name] or '', '^%d+$') end
local function broken()
  if lost[MESSAGES] or redis.call('LLEN', MESSAGES) == 0 then return SAY.no_conversation end
  if lost[TURN] then return SAY.no_journal end
  for _, name in ipairs({ 'seq', 'fence', 'iteration', 'recoveries', 'recoveries_total', 'saved_at', 'token' }) do
    if not whole(name) then return string.format(SAY.no_number, name) end
  end
  return not marker_of() and SAY.no_marker or nil
end

-- To the outbox under a new fence and seq. Who held it may act until its deadline: the next turn waits for that.
local function requeue(new, reason)
  local unsafe_until = math.max(tonumber(redis.call('HGET', TASK, 'unsafe_until') or 0) or 0, now + given.lease_ms)
  queue_task(row, now, new, reason, { seq = row.seq + 1, fence = row.fence + 1, unsafe_until = unsafe_until }, given)
  status = new
end

local function right_place()
  local keep
  for _, name in ipairs(PLACES_OF[status]) do keep = keep or (inside[name] and name) end
  if status == STATUS.Queued and is_out_of_line(row, keep, count) then keep = nil end
  if count == 1 and keep then return true end
  tell(count > 1 and SAY.wrong_places or SAY.wrong_place, status, names_of(inside))
  if not fix then return false end
  local held = inside.leases and keep ~= PLACE.leases
  if keep and not held then
    place(places[keep], inside[keep])
  elseif status == STATUS.Queued or status == STATUS.Running then
    requeue(status, REASON.recovered)
  else
    if held then write({ fence = row.fence + 1 }) end
    place(WAITS, tonumber(row.since) or now)
  end
  return false
end

-- An answer counts as given while its bytes are in the inbox: the task would wait for one that never comes.
local function prompts()
  local given, words = {}, false
  for _, value in ipairs(redis.call('LRANGE', INBOX, 0, -1)) do
    local kind, prompt = sent(value)
    if kind == 'a' then given[prompt] = true else words = true end
  end
  local open = open_prompts()
  for _, prompt in ipairs(open) do
    local answered = redis.call('HEXISTS', TASK, 'a:' .. prompt) == 1
    if status == STATUS.WaitingForUser and answered and not given[prompt] and not (words and talks(prompt)) then
      tell(SAY.answer_gone)
      if fix then redis.call('HDEL', TASK, 'a:' .. prompt) end
      answered = false
    end
    local decoded, stored = pcall(cjson.decode, redis.call('HGET', TASK, 'p:' .. prompt))
    local due = decoded and type(stored) == 'table' and tonumber(stored.deadline_ms)
    if due and due > 0 and not answered and not redis.call('ZSCORE', DEADLINES, ID .. '|' .. prompt) then
      tell(SAY.no_deadline)
      if fix then redis.call('ZADD', DEADLINES, due, ID .. '|' .. prompt) end
    end
  end
  if status ~= STATUS.WaitingForUser then return end
  if #open == 0 then tell(SAY.no_prompt)
  elseif inbox_ready() then tell(SAY.waits_for_nothing)
  else return end
  if fix then requeue(STATUS.Queued, #open == 0 and REASON.recovered or REASON.user_input) end
end

local function alive()
  local text = broken()
  if text then return fail(text) end
  local placed = right_place()
  if placed then check_slot(row, status, inside, fix, tell) end
  prompts()
  local is_seen = inside.leases or (inside.outbox and status == STATUS.Running) -- by its next claim, see commit.lua
  if placed and not is_seen and (row.cancel or row.pause) then
    tell(SAY.stray_flag)
    if not fix then return end
    if row.cancel then
      end_task(row, STATUS.Cancelled, now, cancel_detail(row), { seq = row.seq + 1 }, given)
      status, retained = STATUS.Cancelled, true
      return
    end
    if row.status == STATUS.Paused then redis.call('HDEL', TASK, 'pause')
    else pause_task(row, now, 'user', { seq = row.seq + 1 }, given.events_max); status = STATUS.Paused end
  end
  if retained then
    tell(SAY.in_retention, status)
    if fix then redis.call('ZREM', RETENTION, ID) end
  end
  for _, key in ipairs(PER_TASK) do
    if redis.call('PTTL', key) >= 0 then
      tell(SAY.would_expire, status, string.sub(key, #TASK + 2))
      if fix then redis.call('PERSIST', key) end
    end
  end
end

local function over()
  check_slot(row, status, {}, fix, tell)
  if count > 0 then
    tell(SAY.still_placed, status, names_of(inside))
    if fix then place(nil) end
  end
  if not retained then
    tell(SAY.no_retention, status)
    if fix then redis.call('ZADD', RETENTION, now + given.conversation_ms, ID) end
  end
  for _, key in ipairs(PER_TASK) do
    if redis.call('PTTL', key) == -1 then
      tell(SAY.would_stay, status, string.sub(key, #TASK + 2))
      if fix then redis.call('PEXPIRE', key, given.conversation_ms) end
    end
  end
end

if TERMINAL[status] then over() else alive() end
for name, zset in pairs(STATUS_KEY) do
  local stands = listed(name)
  if name == status and not stands then
    tell(SAY.not_listed, status)
    if fix then redis.call('ZADD', zset, tonumber(redis.call('HGET', TASK, 'since')) or now, ID) end
  elseif name ~= status and stands then
    tell(SAY.listed_elsewhere, status, name)
    if fix then redis.call('ZREM', zset, ID) end
  end
end
if fix and #found > 0 and not TERMINAL[row.status] then
  note_decision(cjson.encode({ task_id = ID, verdict = 'repaired', reason = table.concat(found, '; ') .. '.' }), now, given.why_max)
  if TERMINAL[status] then redis.call('PEXPIRE', WHY, given.conversation_ms) end
end
return answer()
