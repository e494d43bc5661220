// Script part for changes of requests from outside their batch. Lua.

export const AMEND = `
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
  local ids = moved(change)
  if #ids < (change.least or 1) then return answers end
  for _, id in ipairs(ids) do
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

-- Number of entries read at the front of a lane: entries that cannot be claimed stay there.
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
`;
