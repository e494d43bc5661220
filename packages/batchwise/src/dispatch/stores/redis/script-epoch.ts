// Script part that checks whether the server still has every write that it has confirmed. Lua. It
// runs first and last in the script.
//
// The store has an epoch, which its first write creates and which is lost with the data. It counts
// the calls that wrote. For each earlier run of the server it keeps the count at the first write of
// the next run: writes that the earlier run confirmed beyond that count are lost. A caller sends
// the epoch, run and count of its last answer; if the server has less, the call does nothing.

export const EPOCH = `
local EPOCH = P .. 'epoch'

-- The layout of the data; processes that know only earlier layouts are refused. Earlier ones: 1
-- (not stored): bodies in the requests' hashes, outcomes as hashes, no arrivals. 2: no marks of
-- statuses, tombstones without a time. 3: no counts of ready requests. 4: values that decide about
-- batches and outages stand in texts for people. 5: no payers.
local LAYOUT = 6

-- Who may not ask for it gets no answer: then a loss shows by the epoch and the count alone.
local function serverRun()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
end

-- Most seconds between two checks of the user's rights and of the server's risks.
local LOOKS_EACH = 60

-- The settings that decide whether data can be lost; "" for one that cannot be read. Last: the time
-- of reading.
local function risks(at)
  local info = ''
  for _, section in ipairs({ 'memory', 'persistence', 'replication' }) do
    local part = redis.pcall('INFO', section)
    if type(part) == 'string' then info = info .. '\\n' .. part end
  end
  local function valueOf(name) return string.match(info, '\\n' .. name .. ':([^\\r\\n]*)') or '' end
  return { valueOf('maxmemory_policy'), valueOf('maxmemory'), valueOf('aof_enabled'), valueOf('role'), at }
end

local function readEpoch()
  local f = call('HMGET', EPOCH, 'id', 'run', 'writes', 'layout')
  return { id = f[1] or '', run = f[2] or '', writes = tonumber(f[3] or '0'), layout = tonumber(f[4] or '1') }
end

-- Before the first write of a run.
local function beginRun(epoch)
  if epoch.layout < LAYOUT then
    if epoch.layout < 5 then toLayout5() end
    call('HSET', EPOCH, 'layout', LAYOUT)
  end
  local run = serverRun()
  if epoch.id == '' then
    local time = call('TIME')
    epoch.id = time[1] .. '.' .. time[2] .. '-' .. run
  elseif epoch.run == run then return
  else call('HSET', EPOCH, 'left:' .. epoch.run, str(epoch.writes)) end
  epoch.run = run
  call('HSET', EPOCH, 'id', epoch.id, 'run', run)
end

local function hasLess(epoch, run, writes)
  if writes > epoch.writes then return true end
  if run == epoch.run then return false end
  local left = call('HGET', EPOCH, 'left:' .. run)
  return not left or tonumber(left) < writes
end

-- A call that only looked for work and found none wrote nothing.
local function hasWritten(method, input, answer)
  if method == 'lease' then return #answer > 0 end
  if method == 'deliveries' then return #answer > 0 or #input.reports > 0 end
  if method == 'prune' then return answer[1] + answer[2] + answer[5] > 0 end
  return true
end

-- Commands that the user may not run, checked first: a refusal in the middle would leave half a
-- call.
local function forbidden()
  local missing = {}
  for _, command in ipairs(NEEDED) do
    if not redis.acl_check_cmd(command, EPOCH) then missing[#missing + 1] = command end
  end
  return #missing > 0 and table.concat(missing, ', ') or nil
end

-- lookedAt: when this process last got the risks, in seconds; nil if never, or if a call has failed
-- since.
local function perform(method, input, id, run, writes, lookedAt)
  local seconds = tonumber(redis.pcall('TIME')[1])
  local looks = not lookedAt or not seconds or math.abs(seconds - lookedAt) >= LOOKS_EACH
  local missing = looks and redis.acl_check_cmd and forbidden()
  if missing then
    return redis.error_reply('NOPERM this user has no permissions to run ' .. missing .. ' on keys of ' .. P .. '*')
  end
  local epoch = readEpoch()
  if epoch.layout > LAYOUT then
    return redis.error_reply('LAYOUT The data has layout ' .. epoch.layout .. ', newer than this batchwise knows (' .. LAYOUT .. ')')
  end
  -- Detects the loss of all data before a new epoch begins.
  if id ~= '' and id ~= epoch.id then return { 'set back' } end
  local held = WRITING and epoch.layout < LAYOUT and heldByOlder(epoch, LAYOUT, seconds)
  if held then return redis.error_reply(held) end
  if WRITING then beginRun(epoch) end
  if id ~= '' and hasLess(epoch, run, writes) then return { 'set back' } end
  local answer = methods[method](input)
  flush()
  if WRITING and hasWritten(method, input, answer) then
    epoch.writes = call('HINCRBY', EPOCH, 'writes', 1)
  end
  return { epoch.id, epoch.run, str(epoch.writes), looks and risks(seconds) or false, answer }
end

return perform(ARGV[1], cjson.decode(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]))
`;
