// Script part for indexes of requests by arrival, job and tenant, and for endings. Lua.
//
// Arrivals: hashes of ids by seq, CHUNK seqs each, so small that the server packs them. Each chunk
// also has counts of open requests, in total and by job, and marks of the statuses with which
// requests have ended, so that a search skips chunks without a match.

export const ENDINGS = `
local function akey(chunk) return P .. 'at:' .. str(chunk) end

-- Until it has been indexed, a store of an earlier version has requests that are missing in the
-- arrivals, or whose status has no mark.
local indexed, marked
local function isIndexed()
  if indexed == nil then indexed = call('HEXISTS', P .. 'meta', 'indexed') == 1 end
  return indexed
end

local function isMarked()
  if marked == nil then marked = call('HEXISTS', P .. 'meta', 'marked') == 1 end
  return marked
end

local function mark(seq, status) gather('HSET', P .. 'st:' .. status, str(chunkOf(seq)), 1) end

local function countOpen(seq, more) count('open', seq, more) end

local function hasArrived(seq) return isIndexed() or call('HEXISTS', akey(chunkOf(seq)), str(seq)) == 1 end

local function arrive(r)
  if r.seq == 1 then
    call('HSET', P .. 'meta', 'indexed', 1, 'marked', 1, 'readied', str(EVERY))
    indexed, marked, readied = true, true, EVERY
  end
  gather('HSET', akey(chunkOf(r.seq)), str(r.seq), r.id)
  countOpen(r.seq, 1)
  if r.job ~= '' then grow(P .. 'ja:' .. r.job, str(chunkOf(r.seq)), 1) end
end

-- The sums of a tenant, job and lane, without the lane's group. The first count creates them.
local used = {}

local function use(r, field, more)
  local lanes = used[r.tenant] or {}
  used[r.tenant] = lanes
  local jobs = lanes[r.lane] or {}
  lanes[r.lane] = jobs
  local name = jobs[r.job]
  if not name then
    local lane = string.gsub(r.lane, '^([^ ]* )[^ ]+ ', '%1 ')
    name = cjson.encode({ r.tenant, r.job, lane })
    jobs[r.job] = name
    if call('EXISTS', P .. 'u:' .. name) == 0 then
      call('SADD', P .. 'usage', name)
      call('SADD', P .. 'ut:' .. r.tenant, name)
      call('SADD', P .. 'uj:' .. r.job, name)
    end
  end
  grow(P .. 'u:' .. name, field, more)
end

local TOKENS = { 'inputTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens' }

local function useTokens(r, tokens)
  for _, field in ipairs(TOKENS) do
    if tokens[field] > 0 then use(r, field, tokens[field]) end
  end
end

-- Writes an outcome under the next cursor, and a delivery for each sink. Payload and id are one
-- text outside the request's hash, which stays small enough for the server's compact encoding.
local function finish(r, ending, sinks, now)
  local cursor = nextOf('cursor')
  bump(ending.status, 1)
  call('SET', P .. 'e:' .. cursor, #r.id .. ':' .. r.id .. ending.payload)
  call('XADD', P .. 'ends', cursor .. '-0', '', '')
  local fields = { 'cursor', cursor, 'status', ending.status, 'endedAt', str(now), 'attempts', str(r.attempts) }
  if given(ending.code) then fields[9], fields[10] = 'code', ending.code end
  if ending.batchKey then fields[#fields + 1], fields[#fields + 2] = 'endedIn', ending.batchKey end
  call('HSET', rkey(r.id), unpack(fields))
  if r.job ~= '' then gather('ZADD', P .. 'je:' .. r.job, cursor, cursor) end
  if hasArrived(r.seq) then countOpen(r.seq, -1) end
  mark(r.seq, ending.status)
  use(r, ending.status, 1)
  if given(ending.usage) then useTokens(r, ending.usage) end
  for _, sink in ipairs(sinks) do
    call('HSET', P .. 'd:' .. cursor, sink, cjson.encode({ 'waiting', '0', str(now) }))
    gather('ZADD', P .. 'w:' .. sink, cursor, cursor)
    gather('ZADD', P .. 'due', str(now), cursor .. ':' .. sink)
  end
end

-- Id and payload of an outcome. Those of earlier versions are hashes.
local function endingOf(cursor)
  local text = call('GET', P .. 'e:' .. cursor)
  if not text then
    local c = call('HMGET', P .. 'c:' .. cursor, 'id', 'payload')
    return c[1], c[2]
  end
  local first, last, length = string.find(text, '^(%d+):')
  return string.sub(text, last + 1, last + length), string.sub(text, last + length + 1)
end
`;
