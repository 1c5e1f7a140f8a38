-- fire: a due timer, or the fallback poll of a Blocked task (wake), to the outbox.
-- ARGV: from (timers|blocked), events_max, republish_ms, why_max
local row = read(COMMON)
if not row.status or TERMINAL[row.status] then return { 'STALE' } end
local now = now_ms()
local limits = { events_max = number(2), republish_ms = number(3) }
if ARGV[1] == 'timers' then
  local due = redis.call('ZSCORE', TIMERS, ID)
  if not due or tonumber(due) > now then return { 'STALE' } end
  queue_task(row, now, row.status, nil, { seq = row.seq + 1 }, limits)
else
  if row.status ~= 'Blocked' or not redis.call('ZSCORE', WAITS, ID) then return { 'STALE' } end
  queue_task(row, now, 'Queued', 'unblocked', { seq = row.seq + 1 }, limits)
end
note_decision(cjson.encode({
  task_id = ID, verdict = 'fired', evidence = ARGV[1] == 'timers' and 'due' or 'poll', iteration = tonumber(row.iteration),
  saved_age_ms = now - (tonumber(row.saved_at) or now), recoveries = tonumber(row.recoveries),
  reason = ARGV[1] == 'timers' and 'Its time had come: a worker may go on.' or 'It had been blocked for a while: a worker looks again.',
}), now, number(4))
return { 'FIRED', tostring(row.seq + 1), row.iteration }
