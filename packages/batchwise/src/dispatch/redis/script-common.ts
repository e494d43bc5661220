// The part of the script that the others use: keys, numbers, lanes, endings. Lua, run inside the server; nothing here
// runs in JavaScript. All keys begin with KEYS[1], whose hash tag keeps them on one node.

export const COMMON = `
local P = KEYS[1]
local call = redis.call
local null = cjson.null

-- Numbers as text that reads back as the same number.
local function str(v)
  if type(v) == 'number' then return string.format('%.17g', v) end
  if type(v) == 'boolean' then return v and '1' or '0' end
  return v
end

local function given(v) return v ~= nil and v ~= null end

local function set(key, field, v)
  if given(v) then call('HSET', key, field, str(v)) else call('HDEL', key, field) end
end

local function num(key, field) return tonumber(call('HGET', key, field) or '0') end

local function bump(field, more) call('HINCRBY', P .. 'meta', field, more) end

local function rkey(id) return P .. 'r:' .. id end
local function bkey(key) return P .. 'b:' .. key end

-- Higher priorities sort first as text: those from 0 up, then those below.
local function level(priority)
  if priority >= 0 then return string.format('0%017.0f', 9007199254740992 - priority) end
  return string.format('1%017.0f', -priority)
end

-- Where a lane has a request: sorted as text, this is the claim order. The figures that a claim needs are in it.
local function entry(r)
  return level(r.priority) .. string.format('%018.0f%018.0f:%.17g:%.17g:%.17g:%.17g:%.17g:', r.rank, r.seq,
    r.bytes, r.tokens, r.notBefore, r.deadline or -1, r.created) .. r.id
end

local ENTRY = '^(' .. string.rep('.', 18) .. ')(' .. string.rep('.', 18) .. ').-:(.-):(.-):(.-):(.-):(.-):(.*)$'

local function parse(e)
  local p, rank, bytes, tokens, notBefore, deadline, created, id = string.match(e, ENTRY)
  deadline = tonumber(deadline)
  local figure = tonumber(string.sub(p, 2))
  local priority = string.sub(p, 1, 1) == '0' and 9007199254740992 - figure or -figure
  return { entry = e, priority = priority, rank = tonumber(rank), bytes = tonumber(bytes),
    tokens = tonumber(tokens), notBefore = tonumber(notBefore), deadline = deadline >= 0 and deadline or nil,
    created = tonumber(created), id = id }
end

-- Into its lane; what has to wait for its notBefore stands apart, in no claim's way, until a seal wakes it.
local function makeReady(id, now)
  local key = rkey(id)
  local lane = call('HGET', key, 'lane')
  local r = { id = id, priority = num(key, 'priority'), rank = num(key, 'rank'), seq = num(key, 'seq'),
    bytes = num(key, 'bytes'), tokens = num(key, 'tokens'), notBefore = num(key, 'notBefore'),
    deadline = tonumber(call('HGET', key, 'deadlineAt') or nil), created = num(key, 'createdAt') }
  local e = entry(r)
  call('HSET', key, 'entry', e)
  if r.notBefore > now then call('ZADD', P .. 'later:' .. lane, str(r.notBefore), id)
  else call('ZADD', P .. 'q:' .. lane, 0, e) end
  call('SADD', P .. 'lanes', lane)
  if r.deadline then
    call('ZADD', P .. 'until:' .. lane, str(r.deadline), id)
    call('ZADD', P .. 'until', str(r.deadline), string.format('%018.0f', r.seq) .. id)
  end
end

-- Each request is woken once a requeue.
local function wake(lane, now)
  for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'later:' .. lane, '-inf', str(now))) do
    call('ZADD', P .. 'q:' .. lane, 0, call('HGET', rkey(id), 'entry'))
    call('ZREM', P .. 'later:' .. lane, id)
  end
end

-- Out of its lane; an empty lane is no lane. 'seq' is read only where there is a deadline.
local function leaveLane(id, lane, e, hasDeadline, wasDeferred)
  call('ZREM', P .. 'q:' .. lane, e)
  call('HDEL', rkey(id), 'entry')
  if wasDeferred then call('ZREM', P .. 'later:' .. lane, id) end
  if hasDeadline then
    call('ZREM', P .. 'until:' .. lane, id)
    call('ZREM', P .. 'until', string.format('%018.0f', num(rkey(id), 'seq')) .. id)
  end
  if call('EXISTS', P .. 'q:' .. lane, P .. 'later:' .. lane) == 0 then call('SREM', P .. 'lanes', lane) end
end

-- An outcome under the next cursor, and a delivery for each sink.
local function finish(id, status, payload, charged, sinks, now)
  local key = rkey(id)
  local cursor = call('HINCRBY', P .. 'meta', 'cursor', 1)
  bump(status, 1)
  call('HSET', P .. 'c:' .. cursor, 'id', id, 'status', status, 'payload', payload, 'recordedAt', str(now),
    'attempts', num(key, 'attempts') + (charged and 1 or 0))
  call('ZADD', P .. 'log', cursor, cursor)
  call('HSET', key, 'cursor', cursor)
  for _, sink in ipairs(sinks) do
    call('HSET', P .. 'd:' .. cursor, sink, cjson.encode({ 'waiting', '0', str(now) }))
    call('ZADD', P .. 'w:' .. sink, cursor, cursor)
    call('ZADD', P .. 'due', str(now), cursor .. ':' .. sink)
  end
end

local function ledgerSums(name, now)
  local sums = { tokens = 0, requests = 0, batches = 0 }
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'booked:' .. name, '(' .. str(now), '+inf')) do
    sums.tokens = sums.tokens + num(bkey(key), 'tokens')
    sums.requests = sums.requests + num(bkey(key), 'requests')
    sums.batches = sums.batches + 1
  end
  return sums
end

local function readBatch(key)
  return { call('HGETALL', bkey(key)), call('HGETALL', P .. 'o:' .. key) }
end

local function held(input)
  return call('HGET', bkey(input.key), 'fence') == str(input.fence)
end

local methods = {}
`;
