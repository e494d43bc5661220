// Script part for payers: their limits, spending and reservations. Lua. A batch keeps its payers
// and its reservation with each until its last member is settled.

export const PAYERS = `
local function payerKey(name) return P .. 'pay:' .. name end

-- What is left of the least of them: nothing where one is not known.
local function moneyLeft(names)
  local room
  for _, name in ipairs(names) do
    local f = call('HMGET', payerKey(name), 'limit', 'spent', 'reserved')
    local left = f[1] and tonumber(f[1]) - tonumber(f[2]) - tonumber(f[3]) or 0
    room = math.min(room or left, left)
  end
  return room
end

local function pay(names, field, amount)
  for _, name in ipairs(names) do
    if amount ~= 0 and call('EXISTS', payerKey(name)) == 1 then call('HINCRBY', payerKey(name), field, str(amount)) end
  end
end

local function reserve(key, taken, names)
  local price = 0
  for _, r in ipairs(taken) do price = price + r.price end
  call('HSET', bkey(key), 'payers', cjson.encode(names), 'reserved', str(price))
  pay(names, 'reserved', price)
end

-- settled: the items of a settle that counted.
local function charge(key, settled, remaining)
  local f = call('HMGET', bkey(key), 'payers', 'reserved', 'requests')
  if not f[1] or #settled == 0 then return end
  local names, reserved, spent = cjson.decode(f[1]), tonumber(f[2]), 0
  local share = math.ceil(reserved / math.max(1, tonumber(f[3])))
  for _, item in ipairs(settled) do
    if item.price == 'share' then spent = spent + share elseif given(item.price) then spent = spent + item.price end
  end
  pay(names, 'spent', spent)
  if remaining == 0 then pay(names, 'reserved', 0 - reserved) end
end

local function readPayers(names)
  local rows, seen = {}, {}
  for _, name in ipairs(names) do
    local f = call('HMGET', payerKey(name), 'limit', 'spent', 'reserved')
    if f[1] and not seen[name] then
      seen[name] = true
      table.insert(rows, { name, f[1], f[2], f[3] })
    end
  end
  return rows
end

function methods.readPayers(input) return readPayers(input.names) end

function methods.payers(input)
  for _, change in ipairs(input.changes) do
    local key = payerKey(change.name)
    if call('EXISTS', key) == 0 then call('HSET', key, 'spent', str(change.spent), 'reserved', 0) end
    call('HSET', key, 'limit', str(change.limit))
    table.insert(input.names, change.name)
  end
  return readPayers(input.names)
end
`;
