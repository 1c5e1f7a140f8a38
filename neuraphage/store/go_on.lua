-- go_on: finish, and the claim of the next turn by the same process, as one. Answers what finish would, and, where the
-- turn has ended and the next one waits in the outbox, what claim would; it claims nothing else.
if row.claim == given.next_claim and has_lease() then -- a repeat: under that lease neither seq nor iteration changes
  return { settled(row.status, PLACE.outbox, row.seq, row.iteration), granted(now_ms()) }
end
local reply = finish()
local is_next = reply[3] == PLACE.outbox and reply[5] ~= given.iteration -- not the same turn, begun once more
if not is_next then return { reply } end
return { reply, claim_at(read(COMMON), reply[4], given.next_claim) }
