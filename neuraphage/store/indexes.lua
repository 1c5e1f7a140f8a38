-- indexes: the keys of the whole namespace that hold another type than they should. Built anew from the records by repair,
-- once they are out of the way. After the arguments comes the type of each key. Answers: key and type found, for each.
local t, found = redis.call('TIME'), {}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= ARGV[FIRST + i - FIRST_KEY] and kind ~= 'none' then
    found[#found + 1] = key
    found[#found + 1] = kind
    if given.fix == '1' then
      local target = given.aside .. string.match(key, '}:(.*)$') .. ':' .. t[1]
      redis.call('RENAME', key, target)
      redis.call('PEXPIRE', target, given.keep_ms)
    end
  end
end
return found
