-- Included by repair: what a task has of admission, held against where it stands.
local function is_in_line(held) return held and string.sub(held, 1, 1) == 'w' end
local function own_members(held)
  if not held or is_in_line(held) then return held and { [held] = true } or {} end
  local own = {}
  for pool in string.gmatch(string.sub(held, 2), '%S+') do own['s' .. pool .. ' ' .. ID] = true end
  return own
end

local function is_counted(own)
  for member in pairs(own) do if not redis.call('ZSCORE', slots().line, member) then return false end end
  return true
end
local function is_looked_at(lane)
  if redis.call('ZSCORE', slots().lanes, lane) then return true end
  for pool in string.gmatch(string.match(lane, '[^ ]*$'), '[^,]+') do
    -- who gives a slot of that pool back looks at it
    if redis.call('ZSCORE', slots().line, 'p' .. pool .. ' ' .. lane) and slots().is_taken(pool) then return true end
  end
  return false
end
local function stand_again(held)
  for pool in string.gmatch(string.match(slots().lane_in(held), '[^ ]*$'), '[^,]+') do
    if not slots().is_taken(pool) then slots().list_parked('[p' .. pool .. ' ', '(p' .. pool .. '!') end
  end
  slots().stand(held)
end

-- What is wrong, with what puts it right; nil where nothing is. `waits`: whether it stands in waits and nowhere else.
local function slot_fault(held, status, waits)
  local own = own_members(held)
  if not held then return nil end
  if not is_in_line(held) and (status == STATUS.Running or status == STATUS.Queued) and not waits then
    if is_counted(own) then return nil end
    return SAY.no_slot, function() slots().take(slots().slots_for(redis.call('HGET', TASK, 'labels'))) end
  end
  if is_in_line(held) and status == STATUS.Queued and waits then
    if is_counted(own) and is_looked_at(slots().lane_in(held)) then return nil end
    return SAY.no_line, function() stand_again(held) end
  end
  return SAY.at_rest, leave
end
-- A time to begin at that is another one in timers, or none.
local function check_start(row, inside, fix, tell)
  local at = tonumber(row.starts_at)
  if not inside.timers or not row.starts_at or at == inside.timers then return end
  tell(SAY.other_start)
  if fix and at then redis.call('ZADD', TIMERS, at, ID)
  elseif fix then redis.call('HDEL', TASK, 'starts_at') end
end
local function check_slot(row, status, inside, fix, tell)
  check_start(row, inside, fix, tell)
  local text, mend = slot_fault(row.admission, status, inside.waits)
  if not text then return end
  tell('%s', text)
  if fix then mend() end
end
-- What the line has of the task that its record has not.
local function check_line(held, fix, tell)
  local own = own_members(held)
  for _, member in ipairs(cjson.decode(given.line)) do
    if not own[member] and redis.call('ZSCORE', slots().line, member) then
      tell(SAY.stray_line)
      if fix then redis.call('ZREM', slots().line, member) end
    end
  end
end
-- Whether a Queued task is in line and not at rest, or the other way round; or waits for its time and is not in timers.
local function is_out_of_line(row, keep, count)
  if row.starts_at then return keep ~= PLACE.timers or count > 1 end
  local lined, rests = is_in_line(row.admission), keep == PLACE.waits
  return (lined or rests) and not (lined and rests and count == 1)
end
