// Script part that reads requests and outcomes, by id and by field, and sums and marks. Lua.

export const ROWS = `
local FIELDS = { 'lane', 'priority', 'tenant', 'createdAt', 'notBefore', 'deadlineAt', 'bytes', 'tokens', 'attempts',
  'generation', 'batchKey', 'ord', 'wish', 'metadata', 'cursor', 'seq', 'job', 'status', 'code', 'endedIn', 'endedAt',
  'apart' }
local LANE, TENANT, ATTEMPTS, BATCH, METADATA, CURSOR, JOB, STATUS, CODE, ENDED_IN, ENDED_AT, APART = 1, 3, 9, 11, 14, 15,
  17, 18, 19, 20, 21, 22

-- Of earlier versions, the outcome knows how its request ended.
local function readRow(id)
  local row = call('HMGET', rkey(id), unpack(FIELDS))
  if not row[LANE] then return nil end
  if row[CURSOR] and not row[STATUS] then
    local c = call('HMGET', P .. 'c:' .. row[CURSOR], 'attempts', 'status', 'recordedAt')
    row[ATTEMPTS], row[STATUS], row[ENDED_AT] = c[1], c[2], c[3]
  end
  if row[APART] then row[METADATA] = call('GET', P .. 'i:' .. id) end
  return row
end

local function bodyOf(id) return call('GET', P .. 'x:' .. id) or call('HGET', rkey(id), 'body') end

local function readRequest(id, query)
  local row = readRow(id)
  if not row then return nil end
  table.insert(row, query.bodies and bodyOf(id) or false)
  table.insert(row, query.history and call('LRANGE', P .. 'h:' .. id, 0, -1) or false)
  table.insert(row, id)
  table.insert(row, query.bodies and call('GET', P .. 'y:' .. id) or false)
  return row
end

function methods.requests(query)
  local rows = {}
  local ids = query.ids or call('ZRANGEBYSCORE', P .. 'm:' .. query.batchKey, str(query.fromOrd), '+inf', 'LIMIT', 0,
    str(query.limit))
  for _, id in ipairs(ids) do
    local row = readRequest(id, query)
    if row then table.insert(rows, row)
    elseif query.tombstones and buried(id) then table.insert(rows, { id }) end
  end
  return rows
end

local function readOutcome(cursor, deliveries)
  local id, payload = endingOf(cursor)
  local r = readRow(id)
  return { cursor, id, payload, r,
    deliveries and call('HGETALL', P .. 'd:' .. cursor) or false,
    deliveries and call('LRANGE', P .. 'g:' .. cursor, 0, -1) or false }
end

-- Cursors above 'after' in a sorted set. Below: the same for the log, where cursors of earlier
-- versions are in a sorted set, before all others.
local function above(key, after, limit)
  return call('ZRANGEBYSCORE', key, '(' .. str(after), '+inf', 'LIMIT', 0, str(limit))
end

local function ofLog(after, limit)
  local cursors = above(P .. 'log', after, limit)
  if #cursors == limit then return cursors end
  local from = string.format('(%.0f-0', math.max(0, math.min(after, 2 ^ 53)))
  for _, entry in ipairs(call('XRANGE', P .. 'ends', from, '+', 'COUNT', str(limit - #cursors))) do
    table.insert(cursors, string.match(entry[1], '^%d+'))
  end
  return cursors
end

function methods.outcomes(query)
  local rows = {}
  if query.ids then
    for _, id in ipairs(query.ids) do
      local cursor = call('HGET', rkey(id), 'cursor')
      if cursor then table.insert(rows, readOutcome(cursor, query.deliveries)) end
    end
    return rows
  end
  if query.limit <= 0 then return rows end
  local cursors
  if query.dead then cursors = above(P .. 'dead:' .. query.dead, query.after, query.limit)
  elseif query.job then cursors = above(P .. 'je:' .. query.job, query.after, query.limit)
  else cursors = ofLog(query.after, query.limit) end
  for n, cursor in ipairs(cursors) do rows[n] = readOutcome(cursor, query.deliveries) end
  return rows
end
`;
