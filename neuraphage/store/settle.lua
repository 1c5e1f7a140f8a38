-- settle: a call is over. It counts with what it has really used, for a window from when the provider had begun to answer;
-- what it wrote counts from now. What is free by that is told to those who wait, in their order.
local open = decoded('t:' .. given.task)
if not open or open.ticket ~= given.ticket then return { 'STALE' } end
look()
local answered = now - given.answered_ms
count(KINDS[1], 1, given.ticket, answered + given.window_ms)
uncount(KINDS[2], open.input, given.ticket)
uncount(KINDS[3], open.output, given.ticket)
count(KINDS[2], given.input, given.ticket, answered + given.window_ms)
count(KINDS[3], given.output, given.ticket, now + given.window_ms)
redis.call('HDEL', GATE, 't:' .. given.task)
if given.heard ~= '' then hear() end
save()
look()
save()
local before = no_need()
for _, task in ipairs(redis.call('ZRANGE', QUEUE, 0, given.looks_max - 1)) do
  local other = decoded('w:' .. task)
  local need = other and need_of(other.input, other.output)
  if need and not fits(need, before) then break end
  local due = tonumber(redis.call('ZSCORE', TIMERS, task) or 0)
  if need and due > now then redis.call('ZADD', TIMERS, 'XX', now, task) end
  if need then add(before, need) end
end
return { 'SETTLED' }
