-- Included by scripts that take locks, wait for them or free them. LOCKS has a field for each resource that is held or
-- waited for: a line for each task, `<state> <mode> <task id> <since>`. Those who hold it come first, then those who wait, in
-- their order. What a task holds or waits for stands in its field `locks` as JSON (model/lock.py), so a task without that
-- field asks for nothing here. Whoever waits has lines at all its resources since the same write, and goes before each that
-- came later: nobody is passed by, and of two that wait none waits for the other one.
local function locking(now)
  local function lines_of(resource)
    local lines = {}
    for state, mode, id, since in string.gmatch(redis.call('HGET', LOCKS, resource) or '', '(%S+) (%S+) (%S+) (%S+)') do
      lines[#lines + 1] = { state = state, mode = mode, id = id, since = since }
    end
    return lines
  end
  local function keep(resource, lines)
    local text = {}
    for i, line in ipairs(lines) do text[i] = line.state .. ' ' .. line.mode .. ' ' .. line.id .. ' ' .. line.since end
    if #text == 0 then redis.call('HDEL', LOCKS, resource) else redis.call('HSET', LOCKS, resource, table.concat(text, '\n')) end
  end
  local function is_alone(line) return line.mode == LOCK_MODE.exclusive end
  local function without_own(lines)
    local others, own = {}, nil
    for _, line in ipairs(lines) do
      if line.id ~= ID then others[#others + 1] = line elseif line.state == LOCK.holds then own = line end
    end
    return others, own
  end
  local function add(resource, state, mode)
    local lines, own = without_own(lines_of(resource))
    local line = { state = state, mode = mode, id = ID, since = own and own.since or string.format('%.0f', now) }
    local at = #lines + 1
    for i, other in ipairs(lines) do
      if state == LOCK.holds and other.state ~= LOCK.holds then at = i break end
    end
    table.insert(lines, at, line)
    keep(resource, lines)
  end

  -- Who keeps the task from a resource; nil for nobody.
  local function in_the_way(need)
    local lines = lines_of(need.resource)
    local _, own = without_own(lines)
    if own and (is_alone(own) or not is_alone(need)) then return nil end
    for _, line in ipairs(lines) do
      if line.id == ID and line.state ~= LOCK.holds then return nil end -- who came later waits behind it
      if line.id ~= ID and (is_alone(line) or is_alone(need)) then return line end
    end
  end
  local function obstacle(needs)
    for _, need in ipairs(needs) do
      local line = in_the_way(need)
      if line then return need.resource, line.id end
    end
  end
  local function own_locks(text)
    local readable, own = pcall(cjson.decode, text or '')
    local is_whole = readable and type(own) == 'table' and type(own.needs) == 'table'
    return is_whole and own or { needs = {} }
  end
  local function names_of(needs)
    local names = {}
    for i, need in ipairs(needs) do names[i] = need.resource end
    return names
  end

  -- Takes what nobody keeps the task from, beside what it holds; the field for the caller to write.
  local function take(needs, text)
    local held = own_locks(text)
    local all, at = held.state == LOCK.holds and held.needs or {}, {}
    for i, need in ipairs(all) do at[need.resource] = i end
    for _, need in ipairs(needs) do
      local i = at[need.resource] or #all + 1
      if not all[i] or is_alone(need) then all[i] = need end
      add(need.resource, LOCK.holds, all[i].mode)
    end
    return cjson.encode({ state = LOCK.holds, needs = all })
  end

  -- The present task, which waits, gets what it waits for, if it may; false for one that does not wait for this.
  local function grant(resource)
    if type(redis.pcall('HGET', TASK, 'status')) ~= 'string' then return false end
    if type(redis.pcall('XLEN', EVENTS)) ~= 'number' then return nil end -- repair's to mend
    local row = read(COMMON)
    local own, is_asked = own_locks(row.locks), false
    for _, need in ipairs(own.needs) do is_asked = is_asked or need.resource == resource end
    if row.status ~= STATUS.Blocked or own.state ~= LOCK.waiting or not is_asked then return false end
    if not tonumber(row.seq) or obstacle(own.needs) then return nil end
    tells(CAUSE.lock, row.iteration)
    local set = { seq = row.seq + 1, locks = take(own.needs) }
    local may_begin = queue_task(row, now, STATUS.Queued, REASON.unblocked, set, given)
    event(EVENT.ResourceLockAcquired, cjson.encode({ resources = names_of(own.needs) }), given.events_max)
    if may_begin then wake_later(set.seq, row.iteration) end
    return true
  end
  local function try(resource, answer) answer[1] = grant(resource) end
  -- Wakes those who may have a resource now. A line that no record stands behind goes.
  local function wake(resource)
    for _, line in ipairs(lines_of(resource)) do
      if line.state ~= LOCK.holds then
        local answer = {}
        as_task(line.id, try, resource, answer)
        if answer[1] == false then
          local lines = {}
          for _, other in ipairs(lines_of(resource)) do
            if other.id ~= line.id or other.state == LOCK.holds then lines[#lines + 1] = other end
          end
          keep(resource, lines)
        elseif answer[1] == nil and is_alone(line) then break end
      end
    end
  end
  -- Takes the lines of the task away; true where others wait for what it held.
  local function leave(needs)
    local awaited = false
    for _, need in ipairs(needs) do
      local others, own = without_own(lines_of(need.resource))
      awaited = awaited or (own and others[#others] and others[#others].state ~= LOCK.holds)
      keep(need.resource, others)
    end
    return awaited
  end
  local function stands_at(resource)
    for _, line in ipairs(lines_of(resource)) do if line.id == ID then return true end end
    return false
  end
  local function wake_all(needs) for _, need in ipairs(needs) do wake(need.resource) end end
  return {
    obstacle = obstacle, own_locks = own_locks, names_of = names_of, take = take, add = add, leave = leave,
    wake_all = wake_all, stands_at = stands_at, lines_of = lines_of, keep = keep, try = try,
  }
end

-- Whether a call of a tool has begun and nobody knows yet what came of it. One that waits for subtasks touches nothing, and they
-- may need what its task had.
local function is_unsettled()
  local flat = redis.call('HGETALL', TURN)
  for i = 1, #flat, 2 do
    local readable, entry = pcall(cjson.decode, flat[i + 1])
    if not readable or type(entry) ~= 'table' then return true end
    local is_tool = flat[i] ~= MODEL_ENTRY and (entry.kind or EFFECT_KIND.tool) == EFFECT_KIND.tool
    if is_tool and entry.state == EFFECT.started and not entry.children then return true end
  end
  return false
end

-- The task holds no lock any more and waits for none; the next ones have it. A task that is not over keeps what a call of it
-- holds whose outcome is not known.
give_locks_up = function(now, is_over)
  local text = redis.call('HGET', TASK, 'locks')
  if not text then return end
  local locks = locking(now)
  local own = locks.own_locks(text)
  if own.state == LOCK.holds and not is_over and is_unsettled() then return end
  redis.call('HDEL', TASK, 'locks')
  if locks.leave(own.needs) then
    event(EVENT.ResourceLockReleased, cjson.encode({ resources = locks.names_of(own.needs) }), given.events_max)
  end
  locks.wake_all(own.needs)
end
