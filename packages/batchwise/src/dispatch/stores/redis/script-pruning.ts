// Script part that prunes ended work and keeps tombstones. Lua.
//
// Tombstones: by id, the digest and then the time of pruning, in 65,536 hashes, so small that the
// server packs them up to some millions. Those of earlier versions have no time.

export const TOMBSTONES = `
local function graveOf(id) return P .. 't:' .. string.sub(redis.sha1hex(id), 1, 4) end

local hasGraves
local function buried(id)
  if hasGraves == nil then hasGraves = call('HEXISTS', P .. 'meta', 'pruned') == 1 end
  local text = hasGraves and call('HGET', graveOf(id), id)
  return text and string.match(text, '^[^\\31]*')
end

-- Adds an ended batch whose members have all been deleted to 'over'. The score is its last known
-- write.
local function noteIfOver(key)
  local b = call('HMGET', bkey(key), 'gone', 'requests', 'state', 'updatedAt')
  if b[1] and b[3] == 'done' and tonumber(b[1]) >= tonumber(b[2]) then call('ZADD', P .. 'over', b[4], key) end
end

local function leave(key, members)
  if call('EXISTS', bkey(key)) == 0 then return end
  call('HINCRBY', bkey(key), 'gone', members)
  noteIfOver(key)
end
`;

export const PRUNING = `
local function unlink(keys)
  for from = 1, #keys, SOME do call('UNLINK', unpack(keys, from, math.min(from + SOME - 1, #keys))) end
end

local function waits(cursor)
  for _, text in ipairs(call('HVALS', P .. 'd:' .. cursor)) do
    if cjson.decode(text)[1] == 'waiting' then return true end
  end
  return false
end

local function bury(cursor, id, keys, gone, now)
  local r = call('HMGET', rkey(id), 'digest', 'seq', 'job', 'endedIn')
  call('HSET', graveOf(id), id, r[1] .. '\\31' .. str(now))
  local chunk = chunkOf(tonumber(r[2]))
  call('HDEL', akey(chunk), r[2])
  if call('EXISTS', akey(chunk)) == 0 then
    for _, status in ipairs({ 'succeeded', 'failed', 'cancelled', 'expired' }) do
      gather('HDEL', P .. 'st:' .. status, str(chunk))
    end
  end
  if r[3] then
    gather('ZREM', P .. 'je:' .. r[3], cursor)
    local counts = P .. 'ja:' .. r[3]
    if call('HINCRBY', counts, str(chunk), -1) <= 0 then call('HDEL', counts, str(chunk)) end
  end
  if r[4] then gone[r[4]] = (gone[r[4]] or 0) + 1 end
  for _, line in ipairs(call('LRANGE', P .. 'h:' .. id, 0, -1)) do
    local batch = cjson.decode(line)[1]
    if batch ~= null then gone[batch] = (gone[batch] or 0) + 1 end
  end
  for _, sink in ipairs(call('HKEYS', P .. 'd:' .. cursor)) do gather('ZREM', P .. 'dead:' .. sink, cursor) end
  gather('ZREM', P .. 'log', cursor)
  gather('XDEL', P .. 'ends', cursor .. '-0')
  for _, key in ipairs({ rkey(id), P .. 'x:' .. id, P .. 'y:' .. id, P .. 'i:' .. id, P .. 'h:' .. id, P .. 'c:' .. cursor,
    P .. 'e:' .. cursor, P .. 'd:' .. cursor, P .. 'g:' .. cursor }) do
    table.insert(keys, key)
  end
end

local function removeBatch(key, b, others)
  for _, id in ipairs(others) do call('SREM', P .. 'a:' .. id, key) end
  if b[4] then call('SREM', P .. 'p:' .. b[4], key) end
  call('ZREM', P .. 'booked:' .. b[5], key)
  call('ZREM', P .. 'batches', key)
  call('ZREM', P .. 'over', key)
  call('UNLINK', bkey(key), P .. 'o:' .. key)
end

-- Answers whether it went.
local function removeIfOver(key, input)
  local b = call('HMGET', bkey(key), 'state', 'updatedAt', 'leaseUntil', 'providerBatchId', 'ledger')
  if b[1] ~= 'done' or tonumber(b[2]) > input.batchesBefore or tonumber(b[3]) > input.now then return false end
  local releaseAt = call('ZSCORE', P .. 'booked:' .. b[5], key)
  if releaseAt and tonumber(releaseAt) > input.now then return false end
  removeBatch(key, b, call('HKEYS', P .. 'o:' .. key))
  return true
end

-- Batches of an earlier version do not count deleted members, so the oldest are tried one by one.
local OLDEST = 100

local function removeBatches(input)
  local count, before = 0, str(input.batchesBefore)
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'over', '-inf', before, 'LIMIT', 0, str(input.limit))) do
    if removeIfOver(key, input) then count = count + 1
    elseif call('EXISTS', bkey(key)) == 0 then call('ZREM', P .. 'over', key)
    else call('ZADD', P .. 'over', call('HGET', bkey(key), 'updatedAt'), key) end
  end
  local room = math.min(OLDEST, input.limit - count) - 1
  if room < 0 then return count end
  for _, key in ipairs(call('ZRANGE', P .. 'batches', 0, room)) do
    if call('HEXISTS', bkey(key), 'firstSeq') == 0 and removeIfOver(key, input) then count = count + 1 end
  end
  return count
end

-- Old tombstones are found by a scan of all of them. Its cursors follow the log's, which are below
-- 2 ^ 52.
local FIRST_GRAVE, GRAVES, LOOKED_AT = 2 ^ 52, 65536, 5000

local function forget(input)
  local looked, forgotten, n = 0, 0, input.after - FIRST_GRAVE
  while n < GRAVES and looked < LOOKED_AT do
    local grave = P .. 't:' .. string.format('%04x', n)
    local flat = call('HGETALL', grave)
    for i = 1, #flat, 2 do
      local at = tonumber(string.match(flat[i + 1], '\\31(.*)$') or '0')
      if at <= input.tombstonesBefore then
        gather('HDEL', grave, flat[i])
        forgotten = forgotten + 1
      end
    end
    looked, n = looked + #flat / 2 + 1, n + 1
  end
  return { 0, 0, 0, n < GRAVES and str(FIRST_GRAVE + n) or false, forgotten }
end

function methods.prune(input)
  if input.after >= FIRST_GRAVE then return forget(input) end
  local statuses, keys, gone = asSet(input.statuses), {}, {}
  local requests, kept, isOld, last = 0, 0, false, input.after
  local cursors = ofLog(input.after, input.limit)
  for _, cursor in ipairs(cursors) do
    last = tonumber(cursor)
    local id = endingOf(cursor)
    local row = readRow(id)
    if tonumber(row[ENDED_AT]) <= input.before then
      isOld = true
      if statuses[row[STATUS]] and waits(cursor) then kept = kept + 1
      elseif statuses[row[STATUS]] then
        bury(cursor, id, keys, gone, input.now)
        requests = requests + 1
      end
    end
  end
  unlink(keys)
  for key, members in pairs(gone) do leave(key, members) end
  if requests > 0 then bump('pruned', requests) end
  local batches = removeBatches(input)
  local isEnd = (#cursors < input.limit or not isOld) and batches < input.limit
  local hasMore = isEnd and given(input.tombstonesBefore) and (requests > 0 or call('HEXISTS', P .. 'meta', 'pruned') == 1)
  return { requests, batches, kept, hasMore and str(FIRST_GRAVE) or not isEnd and str(last) or false, 0 }
end
`;
