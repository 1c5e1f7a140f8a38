-- Included by settle and learn: what the provider has told of limits that workers learn. Those of which little is left all
-- workers keep from now on, for a while; one that is kept is replaced by what is told anew. What the provider has counted
-- and we have not (calls that nobody had to ask for, those of other programs) counts as long as it may count there.
local function hear()
  local heard = cjson.decode(given.heard)
  local readable, kept = pcall(cjson.decode, redis.call('HGET', KEPT, given.gate) or '')
  if not readable or kept.till <= now then kept = { limits = {}, till = 0 } end
  for kind, most in pairs(heard.limits) do
    if kept.limits[kind] then kept.limits[kind] = most end
  end
  for _, kind in ipairs(heard.near) do kept.limits[kind], kept.till = heard.limits[kind], now + given.kept_ms end
  if kept.till == 0 then return false end
  redis.call('HSET', KEPT, given.gate, cjson.encode(kept))
  redis.call('PEXPIRE', KEPT, given.kept_ms)
  for _, kind in ipairs(KINDS) do
    local theirs, till = kept.limits[kind] and heard.used[kind] or 0, now + (heard.till_ms[kind] or 0)
    if till > now then count(kind, theirs - used[kind], string.format('heard%.0f', now), till) end
  end
  return true
end
