-- fire: a due timer, or the fallback poll of a Blocked task (wake), to the outbox. One that waits for tasks is held against
-- their records, and waits on while they are not over.
refused = unfit()
if refused then return refused end
local row = read(COMMON)
if not row.status or TERMINAL[row.status] then return { 'STALE' } end
local now = now_ms()
tells(CAUSE.sweep, row.iteration)
local is_timer = given.source == PLACE.timers
if is_timer then
  local due = redis.call('ZSCORE', TIMERS, ID)
  if not due or tonumber(due) > now then return { 'STALE' } end
  queue_task(row, now, row.status, nil, { seq = row.seq + 1 }, given)
else
  if row.status ~= STATUS.Blocked or not redis.call('ZSCORE', WAITS, ID) then return { 'STALE' } end
  local locks, answer = row.locks and locking(now), {}
  local own = locks and locks.own_locks(row.locks)
  if own and own.state == LOCK.waiting then
    locks.try(own.resource, answer) -- what a server has lost with its tail is found here, too
    if not answer[1] then
      if now < (tonumber(own.due_ms) or 0) then return { 'STALE' } end
      local _, holder = locks.obstacle(own.needs)
      own.state, own.holder_task = LOCK.late, holder or own.holder_task
      locks.leave(own.needs)
      queue_task(row, now, STATUS.Queued, REASON.unblocked, { seq = row.seq + 1, locks = cjson.encode(own) }, given)
      locks.wake_all(own.needs)
    end
  elseif waits_for_tasks() then
    reconsider(now, given)
    local status = read({ 'status' }).status
    -- the poll looks at it again when all others have had their turn
    if status == STATUS.Blocked then redis.call('ZADD', STATUS_KEY[STATUS.Blocked], now, ID) end
    if status ~= STATUS.Queued then return { 'STALE' } end
  else
    queue_task(row, now, STATUS.Queued, REASON.unblocked, { seq = row.seq + 1 }, given)
  end
end
note_decision(cjson.encode({
  task_id = ID, verdict = 'fired', evidence = is_timer and EVIDENCE.due or EVIDENCE.poll, iteration = tonumber(row.iteration),
  saved_age_ms = now - (tonumber(row.saved_at) or now), recoveries = tonumber(row.recoveries),
  reason = is_timer and SAY.timer or SAY.poll,
}), now, given.why_max)
if not redis.call('ZSCORE', OUTBOX, ID) then return { 'STALE' } end -- it stands in line
return { 'FIRED', tostring(row.seq + 1), row.iteration }
