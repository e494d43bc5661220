// Script part for outcomes: settle, deliveries. Lua.

export const OUTCOMES = `
local function requeue(id, item, attempts, input)
  call('HSET', rkey(id), 'lane', item.lane, 'notBefore', str(item.notBefore), 'attempts', str(attempts))
  call('RPUSH', P .. 'h:' .. id, cjson.encode({ input.key, item.code, str(input.now) }))
  if given(item.appended) then
    call('HSET', rkey(id), 'bytes', str(item.appended.bytes), 'tokens', str(item.appended.tokens))
    if given(item.appended.turns) then call('SET', P .. 'y:' .. id, item.appended.turns)
    else call('DEL', P .. 'y:' .. id) end
  end
  makeReady(standing(id), input.now)
end

local function settleOne(id, item, input)
  local f = call('HMGET', rkey(id), 'wish', 'attempts', 'tenant', 'job', 'lane', 'seq')
  local r = { id = id, tenant = f[3], job = f[4] or '', lane = f[5], seq = tonumber(f[6]),
    attempts = tonumber(f[2]) + (item.charged and 1 or 0) }
  call('HDEL', rkey(id), 'wish', 'batchKey', 'ord')
  item.batchKey = input.key
  if item.kind == 'final' then finish(r, item, input.sinks, input.now)
  elseif f[1] then
    finish(r, { status = 'cancelled', payload = input.cancelledPayload, code = input.cancelledCode,
      batchKey = input.key }, input.sinks, input.now)
  else requeue(id, item, r.attempts, input) end
  return f[1] and 1 or 0
end

function methods.settle(input)
  if not held(input) then return { 'fence' } end
  local counted, wishes, settled = {}, 0, {}
  local members = P .. 'm:' .. input.key
  for _, item in ipairs(input.items) do
    local ord = str(item.ord)
    local id = not settled[ord] and call('ZRANGEBYSCORE', members, ord, ord)[1]
    if id then
      settled[ord] = true
      gather('ZREM', members, id)
      counted[#counted + 1] = item
      wishes = wishes + settleOne(id, item, input)
    end
  end
  call('HINCRBY', bkey(input.key), 'cancelRequested', 0 - wishes)
  local remaining = call('HINCRBY', bkey(input.key), 'remaining', 0 - #counted)
  charge(input.key, counted, remaining)
  return { 'ok', #counted, #input.items - #counted, remaining }
end

-- Out of the way of takes until its time comes.
local function putOff(sink, cursor, nextAt)
  call('ZREM', P .. 'w:' .. sink, cursor)
  call('ZADD', P .. 's:' .. sink, nextAt, cursor)
end

local function book(report)
  local cursor, sink = str(report.cursor), report.sink
  local at = P .. 'd:' .. cursor
  local known = call('HGET', at, sink)
  if not known then return end
  -- The attempts that have been reported are in the log; a delivery has few.
  local attempt = str(report.attempt)
  for _, line in ipairs(call('LRANGE', P .. 'g:' .. cursor, 0, -1)) do
    local logged = cjson.decode(line)
    if logged[1] == sink and logged[2] == attempt then return end
  end
  local code = given(report.statusCode) and str(report.statusCode) or null
  call('RPUSH', P .. 'g:' .. cursor, cjson.encode({ sink, attempt, str(report.at), code, report.error }))
  local before = cjson.decode(known)
  if before[1] == 'delivered' then return end
  if report.result ~= 'delivered' and attempt ~= before[2] then return end
  local state = report.result == 'retry' and 'waiting' or report.result
  local nextAt = report.result == 'retry' and str(report.nextAt) or before[3]
  call('HSET', at, sink, cjson.encode({ state, before[2], nextAt }))
  if state == 'dead' then call('ZADD', P .. 'dead:' .. sink, cursor, cursor)
  elseif before[1] == 'dead' then call('ZREM', P .. 'dead:' .. sink, cursor) end
  local due = cursor .. ':' .. sink
  if state == 'waiting' then
    call('ZADD', P .. 'due', nextAt, due)
    putOff(sink, cursor, nextAt)
  else
    call('ZREM', P .. 'due', due)
    call('ZREM', P .. 'w:' .. sink, cursor)
    call('ZREM', P .. 's:' .. sink, cursor)
  end
end

-- Moves deliveries of a sink that have become due to its due ones, once per attempt. Returns
-- whether there may be more.
local function hasMoreDue(sink, now)
  local cursors = call('ZRANGEBYSCORE', P .. 's:' .. sink, '-inf', str(now), 'LIMIT', 0, WOKEN)
  for _, cursor in ipairs(cursors) do
    gather('ZREM', P .. 's:' .. sink, cursor)
    gather('ZADD', P .. 'w:' .. sink, cursor, cursor)
  end
  flush()
  return #cursors == WOKEN
end

-- The first due ones of a sink, oldest cursor first. What stands there too early is put off.
local function dueOf(sink, limit, now, found)
  local count = 0
  while count < limit do
    local cursors = call('ZRANGE', P .. 'w:' .. sink, count, math.min(count + SOON, limit) - 1)
    if #cursors == 0 then return end
    for _, cursor in ipairs(cursors) do
      local d = cjson.decode(call('HGET', P .. 'd:' .. cursor, sink))
      if tonumber(d[3]) <= now then
        table.insert(found, { cursor = tonumber(cursor), sink = sink, attempt = tonumber(d[2]) + 1 })
        count = count + 1
      else putOff(sink, cursor, d[3]) end
    end
  end
end

function methods.deliveries(input)
  local rows, found = {}, {}
  local take = input.take
  if given(take) then
    for sink in pairs(asSet(take.sinks)) do
      if hasMoreDue(sink, input.now) then return 'more' end
    end
  end
  for _, report in ipairs(input.reports) do book(report) end
  if not given(take) then return rows end
  -- Those just reported may be due at once.
  for sink in pairs(asSet(take.sinks)) do hasMoreDue(sink, input.now) end
  for sink in pairs(asSet(take.sinks)) do dueOf(sink, take.limit, input.now, found) end
  table.sort(found, function(a, b) return a.cursor < b.cursor or (a.cursor == b.cursor and a.sink < b.sink) end)
  for n, d in ipairs(found) do
    if n > take.limit then break end
    local cursor, nextAt = str(d.cursor), str(take.leaseUntil)
    call('HSET', P .. 'd:' .. cursor, d.sink, cjson.encode({ 'waiting', str(d.attempt), nextAt }))
    call('ZADD', P .. 'due', nextAt, cursor .. ':' .. d.sink)
    putOff(d.sink, cursor, nextAt)
    rows[n] = { d.sink, str(d.attempt), readOutcome(cursor, false) }
  end
  return rows
end
`;
