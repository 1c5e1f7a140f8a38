-- Included by finish and go_on: writes changes and ends the turn. Answers as finish does.
local function finish()
  local refusing = refusal()
  if refusing == 'REPLAY' then return replayed() end
  if refusing then return { refusing } end
  local groups, to, detail = (parse_groups()), given.to, given.detail
  if given.iteration ~= row.iteration then return { 'LOST' } end
  local now = now_ms()
  local set = change_fields(groups, now)
  add_held_time(row, set, now)
  -- A person may have raised the limit since the claim: the turn is begun once more instead of failing.
  if to == FINISH_TO.limited then to = at_limit(set) and FINISH_TO.failed or 'again' end
  local is_plain = to == FINISH_TO.next and not row.pause and not row.cancel and not row.locks
  refusing = not is_plain and MORE and refusal_of(MORE) -- what a plain end does not send
  refusing = refusing or (not is_plain and unfit())
  if refusing then return refusing end
  -- a failed turn can be retried from its journal, so it isn't counted
  local ends = to ~= FINISH_TO.failed and to ~= 'again'
  local seq, iteration = row.seq + 1, ends and row.iteration + 1 or tonumber(row.iteration)
  set.seq = seq
  set.iteration = iteration
  local function answer(verdict, status, where)
    local reply = settled(status, where, seq, iteration)
    reply[1] = verdict
    set.verdict = cjson.encode(reply)
  end
  local function apply_all()
    apply(groups, set, not ends)
    if ends then redis.call('DEL', TURN) end
  end

  -- What a person sent and no turn has read is never dropped: the task goes on with it. Input that only this write
  -- takes in was read by no model yet; an answer that it takes in was read by the turn. An answer to a prompt that is
  -- gone (its task failed and was retried) says nothing to anyone.
  local function unread()
    local taken = {}
    for _, value in ipairs(groups.consumed) do taken[value] = true end
    for _, value in ipairs(redis.call('LRANGE', INBOX, 0, -1)) do
      local kind, prompt = sent(value)
      local heard = kind == 'a' and redis.call('HEXISTS', TASK, 'p:' .. prompt) == 1
      if kind == 'i' or (heard and not taken[value]) then return true end
    end
    return false
  end
  if to == FINISH_TO.completed and unread() then
    to = FINISH_TO.next
    set.turns_from = iteration -- the model had ended its work: turns are counted from the person's message on
  end
  if to == FINISH_TO.completed and not row.cancel then
    answer('COMMITTED', STATUS.Completed, '')
    apply_all()
    end_task(row, STATUS.Completed, now, detail, {}, given)
  elseif row.cancel then
    answer('CANCELLED', STATUS.Cancelled, '')
    apply_all()
    end_task(row, STATUS.Cancelled, now, cancel_detail(row), {}, given)
  elseif to == FINISH_TO.failed then
    answer('COMMITTED', STATUS.Failed, '')
    apply_all()
    end_task(row, STATUS.Failed, now, detail, {}, given)
  elseif row.pause then
    answer('COMMITTED', STATUS.Paused, PLACE.waits)
    apply_all()
    pause_task(row, now, 'user', {}, given.events_max)
  elseif to == FINISH_TO.wait then
    apply_all()
    if inbox_ready() then
      answer('COMMITTED', STATUS.Running, PLACE.outbox)
      queue_task(row, now, STATUS.Running, REASON.user_input, { verdict = set.verdict, turns_from = iteration }, given)
    else
      answer('COMMITTED', STATUS.WaitingForUser, PLACE.waits)
      local last = { verdict = set.verdict }
      status_fields(last, row, STATUS.WaitingForUser, now)
      write(last)
      if row.trail then redis.call('HDEL', TASK, 'trail') end -- who waits long takes little room
      move_status(row, STATUS.WaitingForUser, now)
      place(WAITS, now)
      event(EVENT.UserInputNeeded, detail, given.events_max)
    end
  else
    answer('COMMITTED', STATUS.Running, PLACE.outbox)
    apply_all()
    redis.call('ZREM', LEASES, ID)
    redis.call('ZADD', OUTBOX, now + given.republish_ms, ID)
  end
  if row.locks then give_locks_up(now) end
  return with_woken(cjson.decode(set.verdict))
end
