-- indexes: the keys of the whole namespace that hold another type than they should. Built anew from the records by repair,
-- once they are out of the way. KEYS and ARGV: each key with its type; then ARGV: fix (1 or 0), prefix for keys put aside,
-- how long they are kept. Answers: key and type found, for each.
local fix, aside, keep_ms = ARGV[#KEYS + 1] == '1', ARGV[#KEYS + 2], tonumber(ARGV[#KEYS + 3])
local t, found = redis.call('TIME'), {}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= ARGV[i] and kind ~= 'none' then
    found[#found + 1] = key
    found[#found + 1] = kind
    if fix then
      local target = aside .. string.match(key, '}:(.*)$') .. ':' .. t[1]
      redis.call('RENAME', key, target)
      redis.call('PEXPIRE', target, keep_ms)
    end
  end
end
return found
