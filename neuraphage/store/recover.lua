-- recover: take a lease away from a process that is gone, or whose lease ran out (two visits).
-- evidence: expired, stalled, gone or absent.
refused = unfit()
if refused then return refused end
local evidence, policy = given.evidence, given.policy
local stalled = evidence == EVIDENCE.stalled -- expired, and its process was seen alive: frozen, hung or cut off
local row = read(COMMON)
-- How long the holder makes its leases; what a release without the field has claimed is judged by the visitor's own.
local lease_ms = tonumber(row.lease_ms) or given.lease_ms
local expiry = tonumber(has_lease())
if not row.status or not expiry then return { 'STALE' } end
tells((stalled or evidence == EVIDENCE.expired) and CAUSE.sweep or CAUSE.watcher, row.iteration)
if (row.fence or '') ~= given.fence or (row.claim or '') ~= given.claim then return { 'STALE' } end -- a missing one is seen as empty
local now = now_ms()

-- What the decisions below are made from; nil when it breaks its own rules.
local function marker_name()
  local decoded, marker = pcall(cjson.decode, row.marker or '')
  return decoded and type(marker) == 'table' and type(marker.name) == 'string' and marker.name or nil
end
local marker = marker_name()
local function broken_field()
  for _, name in ipairs({ 'seq', 'fence', 'iteration', 'recoveries', 'recoveries_total', 'saved_at' }) do
    if not tonumber(row[name]) then return name end
  end
  return not marker and 'marker' or nil
end

local function reading(verdict, reason, recoveries)
  return cjson.encode({
    task_id = ID, verdict = string.lower(verdict), evidence = evidence, reason = reason, owner = row.owner,
    marker = marker, iteration = tonumber(row.iteration),
    cost_microusd = tonumber(redis.call('HGET', TASK, 'cost_microusd') or 0), recoveries = recoveries,
    lease_age_ms = now - expiry, heartbeat_age_ms = now - (expiry - lease_ms), saved_age_ms = now - (tonumber(row.saved_at) or now),
  })
end
-- `why` keeps each decision with its readings for people who ask.
local function answer(verdict, text)
  note_decision(text, now, given.why_max)
  if verdict == 'FAILED' or verdict == 'CANCELLED' then redis.call('PEXPIRE', WHY, given.conversation_ms) end
  local place_row = redis.call('HMGET', TASK, 'seq', 'iteration')
  return with_woken({ verdict, text, place_row[1], place_row[2] })
end

if evidence == EVIDENCE.expired or stalled then
  -- late: two heartbeats were missed. A healthy lease never is, so the first visit may come before the expiry,
  -- and a hung worker is replaced as soon as its lease is over.
  -- A lease that ends later than any is made is none of this clock: it has gone back, and nobody has renewed since.
  local strange = expiry > now + lease_ms
  if now - (expiry - lease_ms) < given.second_visit_ms and not strange then return { 'STALE' } end
  -- the mark names the expiry it was made for: a renewal changes the expiry and so clears the mark
  local mark = redis.call('HGET', SUSPECTS, ID)
  local marked_expiry, first_seen = string.match(mark or '', '^(%d+):(%d+)$')
  if tonumber(marked_expiry) ~= expiry or tonumber(first_seen) > now then
    redis.call('HSET', SUSPECTS, ID, string.format('%.0f:%.0f', expiry, now))
    return answer('SUSPECT', reading('SUSPECT', SAY.first_visit, tonumber(row.recoveries)))
  end
  if (expiry > now and not strange) or now - first_seen < given.second_visit_ms then
    return { 'SUSPECT', reading('SUSPECT', SAY.not_due, tonumber(row.recoveries)), '', '' }
  end
elseif row.owner ~= given.process then
  return { 'STALE' }
end

local broken = broken_field()
if broken then -- a person may look at it; nothing can be decided from it, and no sweep stumbles over it again
  local text = string.format(SAY.broken, broken)
  end_task(row, STATUS.Failed, now, cjson.encode({ error = text, recoverable = false }), {}, given)
  return answer('FAILED', reading('FAILED', text, tonumber(row.recoveries)))
end
-- Who lives has not crashed: what its own lease cost it has a count of its own, and leaves that of deaths as it is.
local recoveries = row.recoveries + (stalled and 0 or 1)
local stalls = (tonumber(row.stalls) or 0) + (stalled and 1 or 0)
-- a process that was only seen absent may act until its old deadline, also when its successor is surely gone
local unsafe_until = tonumber(redis.call('HGET', TASK, 'unsafe_until') or 0)
if evidence ~= EVIDENCE.gone then unsafe_until = math.max(unsafe_until, math.min(expiry, now + lease_ms)) end
local set = {
  fence = row.fence + 1, seq = row.seq + 1, recoveries = recoveries, recoveries_total = row.recoveries_total + 1,
  unsafe_until = unsafe_until, stalls = stalled and stalls or nil,
}
add_held_time(row, set, math.min(now, expiry - lease_ms)) -- until it was last renewed: nobody knows of more
local function done(verdict, reason)
  redis.call('HDEL', SUSPECTS, ID)
  local text = reading(verdict, reason, recoveries)
  if verdict ~= 'FAILED' and verdict ~= 'CANCELLED' then event(EVENT.TaskRecovered, text, given.events_max) end
  return answer(verdict, text)
end
local function fail(error_text, recoverable)
  end_task(row, STATUS.Failed, now, cjson.encode({ error = error_text, recoverable = recoverable }), set, given)
  return done('FAILED', error_text)
end

if row.cancel then
  end_task(row, STATUS.Cancelled, now, cancel_detail(row), set, given)
  return done('CANCELLED', SAY.cancelled)
end
if redis.call('LLEN', MESSAGES) == 0 then
  return fail(SAY.no_conversation, false)
end
local begun = not (row.iteration == '0' and marker == MARKER.task_created)
if begun and now - row.saved_at > given.max_age_ms then
  return fail(SAY.too_old, true)
end
if stalled and stalls >= given.max_stalls then
  return fail(string.format(SAY.stalls, stalls, marker), true)
end
if not stalled and recoveries >= given.max_recoveries then
  return fail(string.format(SAY.crashes, recoveries, marker), true)
end
if row.pause then
  pause_task(row, now, 'user', set, given.events_max)
  return done('PAUSED', SAY.pause)
end
if policy ~= POLICY.auto then
  pause_task(row, now, 'recovery', set, given.events_max)
  return done('PAUSED', string.format(SAY.policy, policy))
end
queue_task(row, now, STATUS.Running, REASON.recovered, set, given)
if row.locks then give_locks_up(now) end -- unless its call may still be at work
return done('RECOVERED', begun and SAY.goes_on or SAY.begins)
