-- Included by claim and go_on: takes the lease of a task that is in the outbox at this seq.
local function granted(now)
  return { 'GRANTED', now, redis.call('HGETALL', TASK), redis.call('HGETALL', TURN), redis.call('LRANGE', INBOX, 0, -1) }
end

-- The latest claims of the task, the newest first, each with the number of its last write: `claim:number claim:number `.
-- Who knows the conversation as one of these writes left it knows how it begins. As many as fit into a length.
local TRAIL_CHARS = 80
local function trail_of(row)
  if not row.claim then return '' end
  local all = row.claim .. ':' .. (row.token or '') .. ' ' .. (row.trail or '') .. ' '
  return string.match(string.sub(all, 1, TRAIL_CHARS), '^(.*) ') or ''
end

-- Whether the turn goes straight on from the one before: there is nothing to be told, taken in or waited for, and no
-- limit forbids a call of the model. Then the claim announces that call. decide/machine.py decides all the same, and what
-- it does not send is taken back.
local function goes_straight_on(row, schema)
  local function after(marker) return string.find(row.marker or '', '"' .. marker .. '"', 1, true) end
  return given.request ~= '' and schema <= SCHEMA and not row.reason
    and (after(MARKER.tool_completed) or after(MARKER.response_received))
    and redis.call('HLEN', TURN) == 0 and redis.call('LLEN', INBOX) == 0 and not at_limit({})
    and not row.tree -- which a commit counts the turn of
    and not is_pooled() -- only who knows the request knows what to reserve
end

-- What a commit of the announcement would write; the marker is for the caller to write with the other fields.
local function announce(fence)
  local entry = { state = EFFECT.started, fence = fence, attempt = 1, request_id = given.request }
  redis.call('HSET', TURN, MODEL_ENTRY, cjson.encode(entry))
  event(EVENT.RequestSent, cjson.encode({ request_id = given.request, attempt = 1, fence = fence }), given.events_max)
  return cjson.encode({ name = MARKER.request_sent, request_id = given.request })
end

-- Fields of the task hash that a grant sets.
local function granted_fields(row, claim, now)
  local schema = tonumber(redis.call('HGET', TASK, 'schema') or 1)
  local set = { fence = row.fence + 1, claim = claim, token = 0, lease_ms = given.lease_ms }
  if row.owner ~= given.process then set.owner = given.process end
  if row.claim then set.trail = trail_of(row) end
  if row.max_running_ms then set.held_from = now end
  -- A clean stop may have lasted for days; the age of the last saved step counts from here on.
  if now - (tonumber(row.saved_at) or now) > given.lease_ms then set.saved_at = now end
  -- From now on this release writes to the task: older workers, which may not be able to read that, are to see it.
  if schema < SCHEMA then set.schema = SCHEMA end
  status_fields(set, row, STATUS.Running, now)
  if goes_straight_on(row, schema) then set.marker, set.saved_at = announce(set.fence), now end
  if row.reason then set.started_at, set.started = now, row.reason end -- stays, while `reason` is told once
  return set
end

-- Answers as claim does; `row` is the record as it stands.
local function claim_at(row, seq, claim)
  -- What stood there before this claim: a process knows by it how much of the conversation it need not read again.
  local before = { trail_of(row), redis.call('LLEN', MESSAGES) }
  if row.claim == claim and has_lease() then return granted(now_ms()) end
  if row.seq ~= seq then return { 'STALE' } end -- a task that is gone has none
  if not redis.call('ZSCORE', OUTBOX, ID) then
    return { has_lease() and 'LEASED' or 'NOT_RUNNABLE' }
  end
  local now = now_ms()
  local refusing = (row.cancel or row.pause or row.status == STATUS.Queued) and unfit()
  if refusing then return refusing end
  tells(CAUSE.worker, row.iteration)
  if row.cancel then
    end_task(row, STATUS.Cancelled, now, cancel_detail(row), { seq = row.seq + 1 }, given)
    return with_woken({ 'NOT_RUNNABLE' })
  end
  if row.pause then
    pause_task(row, now, 'user', { seq = row.seq + 1 }, given.events_max)
    return with_woken({ 'NOT_RUNNABLE' })
  end
  -- made where no limit was known yet
  if row.status == STATUS.Queued and not row.admission and not enter(row, now) then
    write({ seq = row.seq + 1 })
    return { 'NOT_RUNNABLE' }
  end
  tells(CAUSE.worker, row.iteration, row.fence + 1)
  write(granted_fields(row, claim, now))
  trim_all_events(given.namespace_events_max)
  if row.short then redis.call('HDEL', TASK, 'short') end
  if row.reason then
    redis.call('HDEL', TASK, 'reason')
    -- told once in a task's life; each later stretch of work is a resumption, with its reason
    event(row.fence == '0' and EVENT.TaskStarted or EVENT.TaskResumed, cjson.encode({ reason = row.reason, iteration = tonumber(row.iteration), fence = row.fence + 1 }), given.events_max)
  end
  move_status(row, STATUS.Running, now)
  redis.call('ZREM', OUTBOX, ID)
  redis.call('ZADD', LEASES, now + given.lease_ms, ID)
  local reply = granted(now)
  for _, value in ipairs(before) do reply[#reply + 1] = value end
  return reply
end
