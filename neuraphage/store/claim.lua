-- claim: take the lease of a task that is in the outbox at this seq (claiming.lua, above).
return claim_at(read(COMMON), given.seq, given.claim)
