// Script part for requests: enqueue, amend, probe. Lua.

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

local function takeOut(id, change, status, sinks, now)
  local r = standing(id)
  countReady(r.seq, -1)
  call('ZREM', P .. 'q:' .. r.lane, entry(r))
  if r.notBefore > 0 then call('ZREM', P .. 'later:' .. r.lane, id) end
  if r.deadline then forgetDeadline(r.lane, r.seq, id) end
  closeIfEmpty(r.lane)
  finish(r, { status = status, payload = change.payload, code = change.code }, sinks, now)
end

-- The ids of those to move; without 'before' the first in claim order.
local function moved(change)
  local from = change.lane
  if type(change.before) == 'number' then
    return call('ZRANGEBYSCORE', P .. 'until:' .. from, '-inf', '(' .. str(change.before), 'LIMIT', 0, str(change.limit))
  end
  local ids = {}
  for _, e in ipairs(call('ZRANGE', P .. 'q:' .. from, 0, str(change.limit - 1))) do table.insert(ids, parse(e).id) end
  return ids
end

local function move(change, now)
  local answers = {}
  local from = change.lane
  for _, id in ipairs(moved(change)) do
    local r = standing(id)
    call('ZREM', P .. 'q:' .. from, entry(r))
    if r.notBefore > 0 then call('ZREM', P .. 'later:' .. from, id) end
    call('ZREM', P .. 'until:' .. from, id)
    call('HSET', rkey(id), 'lane', change.to)
    r.lane = change.to
    countReady(r.seq, -1)
    makeReady(r, now)
    table.insert(answers, id)
    table.insert(answers, 'changed')
  end
  closeIfEmpty(from)
  return answers
end

-- A new body; how it had ended stays as history.
local function correct(id, correction, ending)
  local key = rkey(id)
  local known = call('HGET', key, 'digest')
  local digest = correction.digest
  if not hasDigest(known, digest) then known = known .. '\\n' .. digest end
  call('HSET', key, 'digest', known, 'bytes', str(correction.bytes), 'tokens', str(correction.tokens))
  set(key, 'price', correction.price)
  call('HDEL', key, 'body')
  call('DEL', P .. 'y:' .. id)
  call('SET', P .. 'x:' .. id, correction.body)
  call('RPUSH', P .. 'h:' .. id, cjson.encode(ending))
end

local function retry(id, lane, correction, now)
  local key = rkey(id)
  local cursor = call('HGET', key, 'cursor')
  if not cursor then return 'waiting' end
  local older = call('HMGET', P .. 'c:' .. cursor, 'status', 'recordedAt')
  local status, endedAt = call('HGET', key, 'status') or older[1], older[2]
  if status == 'succeeded' then return 'ended' end
  for _, sink in ipairs(call('HKEYS', P .. 'd:' .. cursor)) do
    call('ZREM', P .. 'w:' .. sink, cursor)
    call('ZREM', P .. 's:' .. sink, cursor)
    call('ZREM', P .. 'dead:' .. sink, cursor)
    call('ZREM', P .. 'due', cursor .. ':' .. sink)
  end
  call('DEL', P .. 'c:' .. cursor, P .. 'e:' .. cursor, P .. 'd:' .. cursor, P .. 'g:' .. cursor)
  call('ZREM', P .. 'log', cursor)
  call('XDEL', P .. 'ends', cursor .. '-0')
  local endedIn = call('HGET', key, 'endedIn')
  if correction then
    local code, at = call('HGET', key, 'code') or status, call('HGET', key, 'endedAt') or endedAt
    correct(id, correction, { endedIn or null, code, at })
  elseif endedIn then leave(endedIn, 1) end
  call('HDEL', key, 'cursor', 'deadlineAt', 'status', 'code', 'endedIn', 'endedAt')
  call('HSET', key, 'lane', lane, 'attempts', 0, 'notBefore', str(now))
  call('HINCRBY', key, 'generation', 1)
  local r = standing(id)
  if r.job ~= '' then
    call('ZREM', P .. 'je:' .. r.job, cursor)
    use(r, 'requests', 1)
  end
  if hasArrived(r.seq) then countOpen(r.seq, 1) end
  makeReady(r, now)
  return 'changed'
end

-- Those of a lane that a claim walks through are looked at from its front: what cannot be claimed stays there.
local FRONT = 1000

local function hastenLane(lane, after, now)
  local function sooner(id)
    call('HSET', rkey(id), 'notBefore', now)
    gather('ZREM', P .. 'later:' .. lane, id)
    gather('ZADD', P .. 'q:' .. lane, 0, entry(standing(id)))
  end
  for _, e in ipairs(call('ZRANGE', P .. 'q:' .. lane, 0, FRONT - 1)) do
    local r = parse(e)
    if r.notBefore > after then
      call('ZREM', P .. 'q:' .. lane, e)
      sooner(r.id)
    end
  end
  for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'later:' .. lane, '(' .. str(after), '+inf')) do sooner(id) end
end

local function hastenBatch(key, after, now)
  local times = call('HMGET', bkey(key), 'nextAt', 'leaseUntil', 'submitStartedAt', 'unknownSince')
  for n, field in ipairs({ 'nextAt', 'leaseUntil', 'submitStartedAt', 'unknownSince' }) do
    if times[n] and tonumber(times[n]) > after then call('HSET', bkey(key), field, now) end
  end
  if tonumber(times[1]) > after then call('ZADD', P .. 'live', now, key) end
end

-- What waits for a time after 'after' is due; only a wrong clock can have written that.
local function hasten(after, at)
  local from, now = '(' .. str(after), str(at)
  for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do hastenLane(lane, after, now) end
  flush()
  for _, key in ipairs(call('ZRANGE', P .. 'live', 0, -1)) do hastenBatch(key, after, now) end
  for _, name in ipairs(call('ZRANGE', P .. 'ledgers', 0, -1)) do
    if num(P .. 'l:' .. name, 'blockedUntil') > after then call('HSET', P .. 'l:' .. name, 'blockedUntil', now) end
    for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'booked:' .. name, from, '(+inf')) do
      call('ZADD', P .. 'booked:' .. name, now, key)
    end
  end
  for _, due in ipairs(call('ZRANGEBYSCORE', P .. 'due', from, '+inf')) do
    local cursor, sink = string.match(due, '^(%d+):(.*)$')
    local d = cjson.decode(call('HGET', P .. 'd:' .. cursor, sink))
    call('HSET', P .. 'd:' .. cursor, sink, cjson.encode({ d[1], d[2], now }))
    call('ZADD', P .. 'due', now, due)
    call('ZREM', P .. 's:' .. sink, cursor)
    call('ZADD', P .. 'w:' .. sink, cursor, cursor)
  end
end

-- Dead deliveries wait again.
local function redeliver(change, now)
  local answers = {}
  local dead = P .. 'dead:' .. change.sink
  for _, cursor in ipairs(call('ZRANGEBYSCORE', dead, '(' .. str(change.after), '+inf', 'LIMIT', 0, str(change.limit))) do
    local d = cjson.decode(call('HGET', P .. 'd:' .. cursor, change.sink))
    call('HSET', P .. 'd:' .. cursor, change.sink, cjson.encode({ 'waiting', d[2], str(now) }))
    call('ZREM', dead, cursor)
    call('ZADD', P .. 'w:' .. change.sink, cursor, cursor)
    call('ZADD', P .. 'due', str(now), cursor .. ':' .. change.sink)
    table.insert(answers, (endingOf(cursor)))
    table.insert(answers, 'changed')
  end
  return answers
end

local function amendOne(id, lane, correction, change, sinks, now)
  local key = rkey(id)
  if call('EXISTS', key) == 0 then return 'not_found' end
  if change.kind == 'retry' then return retry(id, lane, correction, now) end
  if call('HEXISTS', key, 'cursor') == 1 then return 'ended' end
  local batch = call('HGET', key, 'batchKey')
  if not batch then
    takeOut(id, change, change.kind == 'cancel' and 'cancelled' or 'failed', sinks, now)
    return 'changed'
  end
  if change.kind == 'fail' then return 'waiting' end
  if call('HSETNX', key, 'wish', 1) == 1 then call('HINCRBY', bkey(batch), 'cancelRequested', 1) end
  return 'requested'
end

function methods.amend(input)
  local answers = {}
  local change = input.change
  if change.kind == 'hasten' then
    hasten(change.after, input.now)
    return answers
  end
  if change.kind == 'redeliver' then return redeliver(change, input.now) end
  if change.kind == 'move' then return move(change, input.now) end
  if change.kind == 'expire' then
    local late = call('ZRANGEBYSCORE', P .. 'until', '-inf', str(input.now), 'LIMIT', 0, str(change.limit))
    for _, member in ipairs(late) do
      local id = string.sub(member, 19)
      takeOut(id, change, 'expired', input.sinks, input.now)
      table.insert(answers, id)
      table.insert(answers, 'changed')
    end
    return answers
  end
  for n, id in ipairs(change.ids) do
    table.insert(answers, id)
    local correction = change.corrections and change.corrections[n]
    table.insert(answers, amendOne(id, change.lanes and change.lanes[n], correction, change, input.sinks, input.now))
  end
  return answers
end

local SOON = 1000

-- Calls 'visit' with each entry of a lane in claim order that may go at 'now', until it answers false.
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
