-- adjust: how many tasks may be at work, as the settings have it (JSON; empty for no limits), and whoever may begin by that
-- begins. Who is at work stays so; slots are counted anew by the new limits. Answers how many have begun.
local all, now = slots(), now_ms()
refused = refusal_of(slot_asks(all.line, all.lanes))
if refused then return refused end
if given.rules == '' and redis.call('HLEN', ADMISSION) == 0 then return { 'ADJUSTED', 0 } end

local function count_anew()
  local row = redis.pcall('HMGET', TASK, 'status', 'admission', 'labels')
  if row.err then return end
  local held = row[2] and string.sub(row[2], 1, 1)
  if held == 's' then all.give_back(row[2]) end
  if row[1] == STATUS.Running or (row[1] == STATUS.Queued and held == 's') then all.take(all.slots_for(row[3])) end
end
if (redis.call('HGET', ADMISSION, 'rules') or '') ~= given.rules then
  if given.rules == '' then redis.call('HDEL', ADMISSION, 'rules')
  else redis.call('HSET', ADMISSION, 'rules', given.rules) end
  all.list_parked('[p', '(q')
  local at_work = {}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', STATUS_KEY[STATUS.Running], '-inf', '+inf')) do at_work[id] = true end
  for _, member in ipairs(redis.call('ZRANGEBYLEX', all.line, '[s', '(t')) do
    at_work[string.match(member, '[^ ]+$')] = true
    redis.call('ZREM', all.line, member)
  end
  for id in pairs(at_work) do as_task(id, count_anew) end
end
local begun = all.advance(now)
if given.rules == '' and redis.call('EXISTS', all.line) == 0 then redis.call('DEL', ADMISSION, all.lanes) end
return with_woken({ 'ADJUSTED', begun })
