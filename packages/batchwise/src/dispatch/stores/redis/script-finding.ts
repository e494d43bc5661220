// Script part that finds requests by their fields, reads the sums, and changes the marks. Lua.

export const FINDING = `
-- Most requests that one call looks at, and most chunks, or groups of chunks that are passed over.
local LOOK, STEPS, GROUP = 1000, 500, 100

local function matches(row, match, states)
  local state = row[BATCH] and 'claimed' or row[CURSOR] and row[STATUS] or 'ready'
  if states and not states[state] then return false end
  if match.batchKey and match.batchKey ~= (row[BATCH] or row[ENDED_IN]) then return false end
  if match.tenant and match.tenant ~= row[TENANT] then return false end
  if match.job and match.job ~= (row[JOB] or '') then return false end
  return not match.code or match.code == row[CODE]
end

-- Iterates over the chunks from 'chunk' to 'final' that have a count or mark under one of the keys.
-- Returns nil at the end.
local function counted(keys, chunk, final)
  local size = 0
  for _, key in ipairs(keys) do size = size + call('HLEN', key) end
  if size <= LOOK then
    local all, known = {}, {}
    for _, key in ipairs(keys) do
      for _, name in ipairs(call('HKEYS', key)) do
        local one = tonumber(name)
        if one >= chunk and one <= final and not known[one] then
          known[one] = true
          table.insert(all, one)
        end
      end
    end
    table.sort(all)
    local n = 0
    return function()
      n = n + 1
      return all[n]
    end
  end
  local group, n, from = {}, 0, chunk - GROUP
  return function()
    while true do
      n = n + 1
      if n > #group then
        from, group, n = from + GROUP, {}, 0
        if from > final then return nil end
        local names = {}
        for one = from, math.min(from + GROUP - 1, final) do table.insert(names, str(one)) end
        local known = {}
        for _, key in ipairs(keys) do
          for place, count in ipairs(call('HMGET', key, unpack(names))) do known[place] = known[place] or count end
        end
        for place = 1, #names do
          if known[place] then table.insert(group, from + place - 1) end
        end
        if #group == 0 then return false, from + GROUP end
      else return group[n] end
    end
  end
end

local function every(chunk, final)
  local last = chunk - 1
  return function()
    last = last + 1
    return last <= final and last or nil
  end
end

local function arrivedIn(chunk, from, last)
  local found, flat = {}, call('HGETALL', akey(chunk))
  for n = 1, #flat, 2 do
    local seq = tonumber(flat[n])
    if seq >= from and seq <= last then table.insert(found, { seq, flat[n + 1] }) end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

-- Calls 'visit' with each seq and id from 'from' to 'last', until it returns false. Returns where
-- it stopped early.
local function walk(from, last, chunks, visit)
  for steps = 1, STEPS do
    local chunk, passed = chunks()
    if chunk == nil then return nil end
    if not chunk then from = passed * CHUNK
    else
      for _, one in ipairs(arrivedIn(chunk, from, last)) do
        if not visit(one[1], one[2]) then return one[1] - 1 end
      end
      from = (chunk + 1) * CHUNK
    end
  end
  return from - 1
end

-- The batch's members lie between two arrivals; of those of earlier versions these are not known.
local function between(match, from, last)
  if not match.batchKey then return from, last end
  local b = call('HMGET', bkey(match.batchKey), 'fence', 'firstSeq', 'lastSeq')
  if not b[1] then return from, 0 end
  if not b[2] then return from, last end
  return math.max(from, tonumber(b[2])), math.min(last, tonumber(b[3]))
end

-- The counts and marks of the chunks that have requests in one of the states.
local function keysOf(states)
  local keys = {}
  for state in pairs(states) do
    local name = state == 'claimed' and 'open' or state == 'ready' and 'ready' or 'st:' .. state
    table.insert(keys, P .. name)
  end
  return keys
end

function methods.find(query)
  local match, rows = query.match, {}
  local from, last = between(match, query.after + 1, num(P .. 'meta', 'seq'))
  local states = match.states and asSet(match.states)
  if last > 0 and not (isIndexed() and isMarked() and readiedTo() == EVERY) then return { 'unindexed' } end
  if from > last or (states and not next(states)) then return { 'ok', rows, false } end
  local first, final = chunkOf(from), chunkOf(last)
  local chunks = given(match.job) and match.job ~= '' and counted({ P .. 'ja:' .. match.job }, first, final)
    or states and counted(keysOf(states), first, final) or every(first, final)
  local looked = 0
  local stopped = walk(from, last, chunks, function(_, id)
    if looked >= LOOK then return false end
    looked = looked + 1
    local row = readRow(id)
    if row and matches(row, match, states) then
      if #rows >= query.limit then return false end
      table.insert(row, false)
      table.insert(row, false)
      table.insert(row, id)
      table.insert(rows, row)
    end
    return true
  end)
  return { 'ok', rows, stopped and stopped < last and str(stopped) or false }
end

-- One step through the chunks of a store that an earlier version created: counts their ready
-- requests. Returns 'ready' until all chunks are counted.
local function readySome()
  local chunk, last = readiedTo(), chunkOf(num(P .. 'meta', 'seq'))
  if chunk == EVERY then return '0' end
  local final = math.min(last, chunk + LOOK / CHUNK - 1)
  while chunk <= final do
    local ready = 0
    for _, one in ipairs(arrivedIn(chunk, 0, EVERY)) do
      local r = call('HMGET', rkey(one[2]), 'lane', 'batchKey', 'cursor')
      if r[1] and not r[2] and not r[3] then ready = ready + 1 end
    end
    if ready > 0 then call('HSET', P .. 'ready', str(chunk), ready) end
    chunk = chunk + 1
  end
  call('HSET', P .. 'meta', 'readied', str(final == last and EVERY or chunk))
  return final == last and '0' or 'ready'
end

-- One step through all keys, some of which are requests that an earlier version stored. The last
-- step returns cursor 0.
function methods.index(input)
  if isIndexed() and isMarked() then return readySome() end
  local pattern = string.gsub(P .. 'r:', '[%*%?%[%]%^%-\\\\]', '\\\\%0') .. '*'
  local found = call('SCAN', input.cursor, 'MATCH', pattern, 'COUNT', LOOK)
  for _, key in ipairs(found[2]) do
    local r = call('HMGET', key, 'seq', 'cursor', 'status')
    if r[1] and r[2] then mark(tonumber(r[1]), r[3] or call('HGET', P .. 'c:' .. r[2], 'status')) end
    if r[1] and call('HSETNX', akey(chunkOf(tonumber(r[1]))), r[1], string.sub(key, #rkey('') + 1)) == 1 and not r[2] then
      countOpen(tonumber(r[1]), 1)
    end
  end
  if found[1] ~= '0' then return found[1] end
  call('HSET', P .. 'meta', 'indexed', 1, 'marked', 1)
  return 'ready'
end

-- Some of the sums, from 'cursor' of their set on.
function methods.usage(query)
  local names = P .. 'usage'
  if query.job then names = P .. 'uj:' .. query.job elseif query.tenant then names = P .. 'ut:' .. query.tenant end
  local found, rows = call('SSCAN', names, query.cursor, 'COUNT', LOOK), {}
  for _, name in ipairs(found[2]) do
    if not query.tenant or cjson.decode(name)[1] == query.tenant then
      table.insert(rows, { name, call('HGETALL', P .. 'u:' .. name) })
    end
  end
  return { found[1], rows }
end

function methods.marks(input)
  for _, change in ipairs(input.changes) do
    local value = call('HGET', P .. 'marks', change.name) or null
    if value == change.expected then set(P .. 'marks', change.name, change.value) end
  end
  return call('HGETALL', P .. 'marks')
end

function methods.now()
  local time = call('TIME')
  return str(time[1] * 1000 + math.floor(time[2] / 1000))
end

function methods.readMarks() return call('HGETALL', P .. 'marks') end
`;
