// Script part for batches: seal, lease, transition, batches. Lua.

export const BATCHES = `
local function refusal(input, head)
  local ledger = P .. 'l:' .. input.ledger
  local sums = ledgerSums(input.ledger, input.now)
  local left = { tokens = input.limits.tokens - sums.tokens, requests = input.limits.requests - sums.requests,
    batches = input.limits.batches - sums.batches }
  if num(ledger, 'blockedUntil') > input.now then return 'blocked', left end
  if not head then return 'empty', left end
  if left.batches < 1 or left.requests < 1 then return 'no_headroom', left end
  if head.bytes > input.maxBytes or head.tokens > input.maxTokens then return 'head_too_large', left end
  if head.tokens > left.tokens then return 'no_headroom', left end
  return nil, left
end

local function mayGo(r, now) return not r.deadline or r.deadline > now end

-- True if enough for a batch wait and cost more than is left. Reads no more of them.
local function isShort(input, room)
  local count, price = 0, 0
  eachReady(input.lane, input.now, function(r)
    if not mayGo(r, input.now) then return true end
    count, price = count + 1, price + num(rkey(r.id), 'price')
    return count < input.minRequests
  end)
  return count >= input.minRequests and price > room
end

-- room: what is left of the payers' limits; nil without payers.
local function prefix(input, left, room)
  local taken, bytes, tokens, price = {}, 0, 0, 0
  local most = math.min(input.maxRequests, left.requests)
  local mostTokens = math.min(input.maxTokens, left.tokens)
  eachReady(input.lane, input.now, function(r)
    if not mayGo(r, input.now) then return true end
    if #taken + 1 > most or bytes + r.bytes > input.maxBytes or tokens + r.tokens > mostTokens then return false end
    r.price = room and num(rkey(r.id), 'price') or 0
    if room and price + r.price > room then return false end
    table.insert(taken, r)
    bytes, tokens, price = bytes + r.bytes, tokens + r.tokens, price + r.price
    return true
  end)
  return taken
end

-- Gives back its last ones while it has a size to avoid.
local function shortened(taken, input)
  local avoid = {}
  for _, size in ipairs(input.avoidCounts) do avoid[size] = true end
  while #taken > 1 and avoid[#taken] do table.remove(taken) end
  return taken
end

local function claim(input, taken)
  local bytes, tokens, ranks = 0, 0, {}
  local deadline, first, last
  local lane, members = P .. 'q:' .. input.lane, P .. 'm:' .. input.key
  -- Unless some were passed over, they are the first of their lane.
  local isFront = call('ZRANK', lane, taken[#taken].entry) == #taken - 1
  if isFront then call('ZREMRANGEBYRANK', lane, 0, #taken - 1) end
  for n, r in ipairs(taken) do
    call('HSET', rkey(r.id), 'batchKey', input.key, 'ord', n - 1)
    if not isFront then gather('ZREM', lane, r.entry) end
    gather('ZADD', members, n - 1, r.id)
    if r.deadline and (not deadline or r.deadline < deadline) then deadline = r.deadline end
    local seq = tonumber(string.sub(r.entry, 37, 54))
    first, last = math.min(first or seq, seq), math.max(last or seq, seq)
    countReady(seq, -1)
    if r.deadline then forgetDeadline(input.lane, seq, r.id) end
    bytes, tokens = bytes + r.bytes, tokens + r.tokens
    -- They are in order: the last of a priority has its highest rank.
    ranks[string.sub(r.entry, 1, 18)] = string.sub(r.entry, 19, 36)
  end
  flush()
  closeIfEmpty(input.lane)
  for level, rank in pairs(ranks) do
    local priority = str(priorityOf(level))
    local field, places = cjson.encode({ input.lane, priority }), sharesOf(input.lane, priority)
    -- No call reads the level of a lane into which nothing was ever enqueued.
    if call('EXISTS', places, P .. 'share') > 0 or call('HEXISTS', P .. 'level', field) == 1 then
      call('HSET', P .. 'level', field, str(math.max(num(P .. 'level', field), tonumber(rank))))
      call('ZREMRANGEBYSCORE', places, '-inf', str(tonumber(rank)))
    end
  end
  -- All members arrived between these, however they end: a search for them covers only this range.
  call('HSET', bkey(input.key), 'firstSeq', str(first), 'lastSeq', str(last))
  return bytes, tokens, deadline
end

function methods.seal(input)
  if call('EXISTS', bkey(input.key)) == 1 then return { 'ok', readBatch(input.key) } end
  local head
  if wake(input.lane, input.now) then return { 'more' } end
  eachReady(input.lane, input.now, function(r)
    if mayGo(r, input.now) then head = r end
    return not head
  end)
  local facts = head and { head.id, str(head.bytes), str(head.tokens) } or false
  local reason, left = refusal(input, head)
  if reason then return { reason, facts } end
  local room
  if input.payers then room = moneyLeft(input.payers) end
  if room and isShort(input, room) then return { 'price_limit', facts } end
  local taken = shortened(prefix(input, left, room), input)
  if #taken < input.minRequests then return { 'too_few', facts } end
  local bytes, tokens, deadline = claim(input, taken)
  local now = str(input.now)
  call('HSET', bkey(input.key), 'key', input.key, 'lane', input.lane, 'account', input.account, 'ledger', input.ledger,
    'state', 'sealed', 'requests', #taken, 'remaining', #taken, 'bytes', str(bytes), 'tokens', str(tokens),
    'cancelRequested', 0, 'createdAt', now, 'updatedAt', now, 'submitAttempt', 0, 'wholeFailures', 0, 'verified', 1,
    'pollMs', 0, 'nextAt', now, 'leaseOwner', input.owner, 'leaseUntil', str(input.leaseUntil), 'fence', 1)
  if deadline then call('HSET', bkey(input.key), 'deadlineAt', str(deadline)) end
  if input.payers then reserve(input.key, taken, input.payers) end
  call('ZADD', P .. 'live', now, input.key)
  call('ZADD', P .. 'batches', now, input.key)
  call('ZADD', P .. 'ledgers', 0, input.ledger)
  call('ZADD', P .. 'booked:' .. input.ledger, '+inf', input.key)
  return { 'ok', readBatch(input.key) }
end

local function dueKeys(input)
  if not input.keys then return call('ZRANGEBYSCORE', P .. 'live', '-inf', str(input.now)) end
  local found, seen = {}, {}
  for _, key in ipairs(input.keys) do
    if not seen[key] and call('EXISTS', bkey(key)) == 1 then table.insert(found, { key, num(bkey(key), 'nextAt') }) end
    seen[key] = true
  end
  table.sort(found, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[1] < b[1]) end)
  local keys = {}
  for n, one in ipairs(found) do keys[n] = one[1] end
  return keys
end

function methods.lease(input)
  local wanted, rows = {}, {}
  for _, account in ipairs(input.accounts) do wanted[account] = true end
  for _, key in ipairs(dueKeys(input)) do
    if #rows >= input.limit then break end
    local b = call('HMGET', bkey(key), 'account', 'leaseUntil', 'state')
    local may = input.keys or b[3] ~= 'quarantined'
    if may and wanted[b[1]] and tonumber(b[2]) <= (input.freeAt or input.now) then
      call('HSET', bkey(key), 'leaseOwner', input.owner, 'leaseUntil', str(input.leaseUntil))
      call('HINCRBY', bkey(key), 'fence', 1)
      table.insert(rows, readBatch(key))
    end
  end
  return rows
end

local function isBusy(key, account)
  for _, other in ipairs(call('ZRANGE', P .. 'live', 0, -1)) do
    local b = call('HMGET', bkey(other), 'account', 'state')
    if other ~= key and b[1] == account and (b[2] == 'submitting' or b[2] == 'unknown') then return true end
  end
  return false
end

local function isTaken(key, account, id)
  for _, other in ipairs(call('SMEMBERS', P .. 'p:' .. id)) do
    if other ~= key and call('HGET', bkey(other), 'account') == account then return true end
  end
  return false
end

local function writeLedger(changes)
  local name, pause, least = changes.name, changes.ifBlockedUntil, changes.blockedAtLeast
  local ledger = P .. 'l:' .. name
  local present = num(ledger, 'blockedUntil')
  if pause and present ~= pause then return changes.blockedUntil == present and 1 or 0 end
  call('ZADD', P .. 'ledgers', 0, name)
  changes.name, changes.ifBlockedUntil, changes.blockedAtLeast = nil, nil, nil
  if least then changes.blockedUntil = math.max(present, least) end
  for field, v in pairs(changes) do set(ledger, field, v) end
  return 1
end

local function writeFields(key, fields, before)
  if fields.providerBatchId ~= nil then
    if before[3] then call('SREM', P .. 'p:' .. before[3], key) end
    if given(fields.providerBatchId) then call('SADD', P .. 'p:' .. fields.providerBatchId, key) end
  end
  for field, v in pairs(fields) do set(bkey(key), field, v) end
  local state = fields.state or before[2]
  if state == 'done' then call('ZREM', P .. 'live', key)
  else call('ZADD', P .. 'live', call('HGET', bkey(key), 'nextAt'), key) end
  if state == 'done' and before[2] ~= 'done' then
    bump('done', 1)
    noteIfOver(key)
  end
end

function methods.transition(input)
  if not held(input) then return { 'fence' } end
  local key, changes, now = input.key, input.changes, input.now
  local before = call('HMGET', bkey(key), 'account', 'state', 'providerBatchId', 'remaining', 'ledger')
  if changes.exclusive and isBusy(key, before[1]) then return { 'busy' } end
  if given(changes.providerBatchId) and isTaken(key, before[1], changes.providerBatchId) then return { 'taken' } end
  if changes.state == 'done' and tonumber(before[4]) > 0 then return { 'open' } end
  local ledgers, orphans, releaseAt = changes.ledgers or {}, changes.orphans or {}, changes.releaseAt
  changes.exclusive, changes.ledgers, changes.orphans, changes.releaseAt = nil, nil, nil, nil
  changes.updatedAt = now
  writeFields(key, changes, before)
  local booked = P .. 'booked:' .. before[5]
  if releaseAt == null then call('ZADD', booked, '+inf', key)
  elseif releaseAt then call('ZADD', booked, str(releaseAt), key)
  elseif changes.state == 'done' and before[2] ~= 'done' then call('ZADD', booked, 'LT', str(now), key) end
  local written = {}
  for _, ledger in ipairs(ledgers) do written[#written + 1] = writeLedger(ledger) end
  for _, o in ipairs(orphans) do
    call('HSET', P .. 'o:' .. key, o.providerBatchId, str(o.seenAt) .. ':' .. o.action)
    call('SADD', P .. 'a:' .. o.providerBatchId, key)
  end
  return { 'ok', readBatch(key), written }
end

local function asSet(list)
  local found = {}
  for _, one in ipairs(list) do found[one] = true end
  return found
end

local function ofProvider(ids)
  local found = {}
  for _, id in ipairs(ids) do
    for _, key in ipairs(call('SMEMBERS', P .. 'p:' .. id)) do found[key] = true end
    for _, key in ipairs(call('SMEMBERS', P .. 'a:' .. id)) do found[key] = true end
  end
  return found
end

-- Batches that one call reads, newest first, after those that an earlier call has read. Other calls
-- wait meanwhile.
local LOOKED_AT = 1000

local function walk(query, isEnough, look)
  local from, last = 0, query.last
  if last then
    local rank = call('ZREVRANK', P .. 'batches', last[1])
    -- A batch that was pruned meanwhile has no rank: keys distinguish the batches of its
    -- millisecond.
    from = rank and rank + 1 or call('ZCOUNT', P .. 'batches', '(' .. last[2], '+inf')
  end
  local keys = call('ZREVRANGE', P .. 'batches', from, from + LOOKED_AT - 1, 'WITHSCORES')
  for n = 1, #keys, 2 do
    if isEnough() then return null end
    if not (last and keys[n + 1] == last[2] and keys[n] >= last[1]) then look(keys[n]) end
  end
  if isEnough() or #keys < 2 * LOOKED_AT then return null end
  return { keys[#keys - 1], keys[#keys] }
end

function methods.batches(query)
  local rows = {}
  local keys = query.keys and asSet(query.keys)
  local states = query.states and asSet(query.states)
  local ours = query.providerBatchIds and ofProvider(query.providerBatchIds)
  local function isEnough() return #rows >= query.limit end
  local function look(key)
    if isEnough() or (keys and not keys[key]) or (ours and not ours[key]) then return end
    local b = call('HMGET', bkey(key), 'state', 'account')
    if b[1] and (not states or states[b[1]]) and (not query.account or b[2] == query.account) then
      table.insert(rows, readBatch(key))
    end
  end
  local some = keys or ours
  if not some and states and not states['done'] then some = asSet(call('ZRANGE', P .. 'live', 0, -1)) end
  if not some then
    local last = walk(query, isEnough, look)
    return { rows, last == null and {} or last }
  end
  local found = {}
  for key in pairs(some) do table.insert(found, { key, num(bkey(key), 'createdAt') }) end
  table.sort(found, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] > b[1]) end)
  for _, one in ipairs(found) do look(one[1]) end
  return { rows, {} }
end
`;
