// Script part for requests: enqueue, probe. Lua.

export const REQUESTS = `
-- A tenant's place in a lane, read once a call.
local function shareOf(shares, q)
  local priority = str(q.priority)
  local name = priority .. ' ' .. #q.lane .. ' ' .. q.lane .. q.tenant
  if not shares[name] then
    local field = cjson.encode({ q.lane, priority, q.tenant })
    local places = sharesOf(q.lane, priority)
    -- The hash is of earlier versions: nothing is added to it.
    local finished = tonumber(call('ZSCORE', places, q.tenant) or num(P .. 'share', field))
    shares[name] = { places = places, tenant = q.tenant, finished = finished,
      claimed = num(P .. 'level', cjson.encode({ q.lane, priority })) }
  end
  return shares[name]
end

-- A longer one would take the hash out of the server's packed form (hash-max-listpack-value).
local PACKED = 64

local function keepMetadata(id, text)
  if #text <= PACKED then call('HSET', rkey(id), 'metadata', text)
  else
    call('HSET', rkey(id), 'apart', 1)
    call('SET', P .. 'i:' .. id, text)
  end
end

local function store(q, key, rank, now)
  local seq = nextOf('seq')
  local r = { id = q.id, tenant = q.tenant, job = q.job, lane = q.lane, priority = q.priority, rank = rank, seq = tonumber(seq), bytes = q.bytes,
    tokens = q.tokens, notBefore = 0, deadline = given(q.deadlineAt) and q.deadlineAt or nil, created = now }
  call('HSET', key, 'digest', q.digest, 'lane', q.lane, 'priority', str(q.priority), 'tenant', q.tenant,
    'bytes', str(q.bytes), 'tokens', str(q.tokens), 'seq', seq, 'rank', str(rank),
    'createdAt', str(now), 'notBefore', 0, 'attempts', 0, 'generation', 0)
  call('SET', P .. 'x:' .. q.id, q.body)
  if given(q.metadata) then keepMetadata(q.id, q.metadata) end
  if q.job ~= '' then
    call('HSET', key, 'job', q.job)
    use(r, 'requests', 1)
  end
  if r.deadline then call('HSET', key, 'deadlineAt', str(r.deadline)) end
  if given(q.price) and q.price > 0 then call('HSET', key, 'price', str(q.price)) end
  arrive(r)
  makeReady(r, now)
end

-- The digests of a request, as contract/store/digests.ts keeps them.
local function hasDigest(known, digest)
  return known == digest or string.find('\\n' .. known .. '\\n', '\\n' .. digest .. '\\n', 1, true) ~= nil
end

function methods.enqueue(input)
  local answers, shares = {}, {}
  for n, q in ipairs(input.requests) do
    local key = rkey(q.id)
    local digest = call('HGET', key, 'digest') or buried(q.id)
    if digest then
      answers[n] = hasDigest(digest, q.digest) and 'same' or 'conflict'
    else
      local share = shareOf(shares, q)
      local rank = math.max(share.claimed, share.finished)
      share.finished = rank + math.max(1, q.tokens)
      store(q, key, rank, input.now)
      answers[n] = 'stored'
    end
  end
  for _, share in pairs(shares) do call('ZADD', share.places, str(share.finished), share.tenant) end
  return answers
end

local SOON = 1000

-- Calls 'visit' with each entry of a lane that may go at 'now', in claim order, until it returns
-- false.
local function eachReady(lane, now, visit)
  local from = 0
  while true do
    local entries = call('ZRANGE', P .. 'q:' .. lane, from, from + SOON - 1)
    for _, e in ipairs(entries) do
      local r = parse(e)
      if r.notBefore <= now and not visit(r) then return end
    end
    if #entries < SOON then return end
    from = from + SOON
  end
end

local function least(key, from)
  local found = call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return found[2] or false
end

local function probeLane(lane, input)
  local ready, bytes, tokens, oldest, since = 0, 0, 0, nil, nil
  local function add(r)
    ready = ready + 1
    bytes = bytes + r.bytes
    tokens = tokens + r.tokens
    oldest = math.min(oldest or r.created, r.created)
    local from = math.max(r.created, r.notBefore)
    since = math.min(since or from, from)
    return ready < input.limit
  end
  -- Where the limit can go, the first say what the sums are; unless these have been put off.
  local isMany = input.limit > SOON and call('ZCARD', P .. 'q:' .. lane) >= input.limit
  local most = isMany and SOON or input.limit
  if most > 0 then eachReady(lane, input.now, function(r) return add(r) and ready < most end) end
  if isMany and ready == SOON then
    bytes, tokens = math.floor(bytes * input.limit / SOON + 0.5), math.floor(tokens * input.limit / SOON + 0.5)
    ready = input.limit
  end
  -- Those that no seal has woken yet.
  local woken = call('ZRANGEBYSCORE', P .. 'later:' .. lane, '-inf', str(input.now), 'LIMIT', 0,
    str(input.limit - ready))
  for _, id in ipairs(woken) do add(standing(id)) end
  return { lane, str(ready), str(bytes), str(tokens), oldest and str(oldest) or false,
    since and str(since) or false, least(P .. 'until:' .. lane, '-inf'), least(P .. 'later:' .. lane, '(' .. str(input.now)) }
end

function methods.probe(input)
  local lanes, ledgers, batches = {}, {}, {}
  for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do table.insert(lanes, probeLane(lane, input)) end
  for _, name in ipairs(call('ZRANGE', P .. 'ledgers', 0, -1)) do
    local sums = ledgerSums(name, input.now)
    table.insert(ledgers, { name, str(sums.tokens), str(sums.requests), str(sums.batches),
      call('HGETALL', P .. 'l:' .. name) })
  end
  for _, key in ipairs(call('ZRANGE', P .. 'live', 0, -1)) do
    table.insert(batches, call('HMGET', bkey(key), 'state', 'remaining', 'nextAt', 'leaseUntil'))
  end
  return { lanes, ledgers, batches, call('HGETALL', P .. 'meta'), call('ZCARD', P .. 'due'),
    least(P .. 'due', '-inf') }
end
`;
