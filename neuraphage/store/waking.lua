-- Included by scripts that put other tasks to work: how one does to another task what it does to its own.
-- Has `act` done to another task what it would do to this one.
local function as_task(id, act, ...)
  local own = { ID, TASK, MESSAGES, TURN, INBOX, EVENTS, SIGNALS, WHY, LIVE }
  local key = key_of(id)
  ID, TASK, MESSAGES, TURN, INBOX = id, key, key .. ':messages', key .. ':turn', key .. ':inbox'
  EVENTS, SIGNALS, WHY, LIVE = key .. ':events', key .. ':signals', key .. ':why', key .. ':live'
  local at, cause = told_at, told_cause
  act(...)
  told_at, told_cause = at, cause
  ID, TASK, MESSAGES, TURN, INBOX, EVENTS, SIGNALS, WHY, LIVE = unpack(own)
end

-- Tasks that this script has put to work besides its own: `<id> <seq> <iteration>` each. The caller publishes; what is lost
-- of that, the sweep publishes later.
local woken = {}
local function wake_later(seq, iteration) woken[#woken + 1] = ID .. ' ' .. seq .. ' ' .. iteration end
local function with_woken(reply)
  if #woken > 0 then reply[#reply + 1] = table.concat(woken, '\n') end
  return reply
end
