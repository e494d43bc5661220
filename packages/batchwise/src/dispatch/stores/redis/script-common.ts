// Script part that the others use: keys, numbers, lanes, endings. Lua, run inside the server. All
// keys begin with KEYS[1], whose hash tag keeps them on one node.

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

-- Commands that only add to a set or remove from one are collected for flush, which sends each with
-- as many members as Lua's stack can hold. Reads do not see them: flush before reading such a set.
local SOME = 1000
local waiting, grown, counters, opened, counts = {}, {}, {}, {}, { open = {}, ready = {} }

local function gather(command, key, one, other)
  local name = command .. key
  local batch = waiting[name] or { command = command, key = key }
  waiting[name] = batch
  batch[#batch + 1] = one
  if other then batch[#batch + 1] = other end
end

local function flush()
  for _, batch in pairs(waiting) do
    for from = 1, #batch, SOME do
      call(batch.command, batch.key, unpack(batch, from, math.min(from + SOME - 1, #batch)))
    end
  end
  for key, own in pairs(grown) do
    for field, more in pairs(own) do call('HINCRBY', key, field, str(more)) end
  end
  for name, chunks in pairs(counts) do
    for chunk, more in pairs(chunks) do
      if more ~= 0 and call('HINCRBY', P .. name, str(chunk), str(more)) <= 0 then call('HDEL', P .. name, str(chunk)) end
    end
  end
  for lane in pairs(opened) do call('SADD', P .. 'lanes', lane) end
  waiting, grown, counters, opened, counts = {}, {}, {}, {}, { open = {}, ready = {} }
end

local function grow(key, field, more)
  local own = grown[key] or {}
  grown[key] = own
  own[field] = (own[field] or 0) + more
end

local function bump(field, more) grow(P .. 'meta', field, more) end

local function nextOf(field)
  counters[field] = (counters[field] or num(P .. 'meta', field)) + 1
  bump(field, 1)
  return str(counters[field])
end

local function rkey(id) return P .. 'r:' .. id end
local function bkey(key) return P .. 'b:' .. key end

-- The tenants' places in a lane and priority: F by tenant.
local function sharesOf(lane, priority) return P .. 'f:' .. cjson.encode({ lane, priority }) end

-- Higher priorities sort first as text: those from 0 up, then those below.
local function level(priority)
  if priority >= 0 then return string.format('0%017.0f', 9007199254740992 - priority) end
  return string.format('1%017.0f', -priority)
end

-- A request's entry in its lane: the text order of entries is the claim order. It has the figures
-- that a claim needs.
local function entry(r)
  return level(r.priority) .. string.format('%018.0f%018.0f:%.17g:%.17g:%.17g:%.17g:%.17g:', r.rank, r.seq,
    r.bytes, r.tokens, r.notBefore, r.deadline or -1, r.created) .. r.id
end

local ENTRY = '^([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):(.*)$'

local function parse(e)
  local bytes, tokens, notBefore, deadline, created, id = string.match(e, ENTRY, 56)
  deadline = tonumber(deadline)
  return { entry = e, bytes = tonumber(bytes), tokens = tonumber(tokens), notBefore = tonumber(notBefore),
    deadline = deadline >= 0 and deadline or nil, created = tonumber(created), id = id }
end

-- Decodes the priority, the first 18 characters of an entry; rank and seq follow, with 18 each.
local function priorityOf(level)
  local figure = tonumber(string.sub(level, 2))
  return string.sub(level, 1, 1) == '0' and 9007199254740992 - figure or -figure
end

-- The fields of a request that its lane needs.
local function standing(id)
  local f = call('HMGET', rkey(id), 'lane', 'priority', 'rank', 'seq', 'bytes', 'tokens', 'notBefore', 'deadlineAt',
    'createdAt', 'attempts', 'tenant', 'job')
  return { id = id, tenant = f[11], job = f[12] or '', lane = f[1], priority = tonumber(f[2]), rank = tonumber(f[3]), seq = tonumber(f[4]),
    bytes = tonumber(f[5]), tokens = tonumber(f[6]), notBefore = tonumber(f[7]),
    deadline = f[8] and tonumber(f[8]) or nil, created = tonumber(f[9]), attempts = tonumber(f[10]) }
end

-- Member of the set of deadlines: equal deadlines are in order of arrival.
local function untilMember(seq, id) return string.format('%018.0f', seq) .. id end

local CHUNK = 100

local function chunkOf(seq) return math.floor(seq / CHUNK) end

local function count(name, seq, more)
  local chunk = chunkOf(seq)
  counts[name][chunk] = (counts[name][chunk] or 0) + more
end

-- Chunks below this have a count of their ready requests: all chunks, unless an earlier version
-- created the store.
local EVERY = 2 ^ 53
local readied

local function readiedTo()
  readied = readied or num(P .. 'meta', 'readied')
  return readied
end

local function countReady(seq, more)
  if chunkOf(seq) < readiedTo() then count('ready', seq, more) end
end

-- Puts a request into its lane. One with a later notBefore goes into a set of its own, which no
-- claim scans, until a seal wakes it.
local function makeReady(r, now)
  countReady(r.seq, 1)
  if r.notBefore > now then gather('ZADD', P .. 'later:' .. r.lane, str(r.notBefore), r.id)
  else gather('ZADD', P .. 'q:' .. r.lane, 0, entry(r)) end
  opened[r.lane] = true
  if r.deadline then
    gather('ZADD', P .. 'until:' .. r.lane, str(r.deadline), r.id)
    gather('ZADD', P .. 'until', str(r.deadline), untilMember(r.seq, r.id))
  end
end

-- Requests that one call wakes, while other calls wait. Each is woken once per requeue. Returns
-- whether there may be more.
local WOKEN = 5000

local function wake(lane, now)
  local ids = call('ZRANGEBYSCORE', P .. 'later:' .. lane, '-inf', str(now), 'LIMIT', 0, WOKEN)
  for _, id in ipairs(ids) do
    gather('ZADD', P .. 'q:' .. lane, 0, entry(standing(id)))
    gather('ZREM', P .. 'later:' .. lane, id)
  end
  flush()
  return #ids == WOKEN
end

local function forgetDeadline(lane, seq, id)
  gather('ZREM', P .. 'until:' .. lane, id)
  gather('ZREM', P .. 'until', untilMember(seq, id))
end

-- An empty lane is no lane.
local function closeIfEmpty(lane)
  if call('EXISTS', P .. 'q:' .. lane, P .. 'later:' .. lane) == 0 then call('SREM', P .. 'lanes', lane) end
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
