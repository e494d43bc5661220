// The part of the script that brings data of earlier layouts to the present one. Lua. It runs
// before the first write of a new version, as a part of that call.

export const LAYOUTS = `
-- In ms. A wrong clock wrote a lease that ends later than this: the change does not wait for it.
local LONGEST_LEASE = 3600000

-- Why data of an earlier layout cannot be changed yet; nil if it can.
local function heldByOlder(epoch, layout, seconds)
  local now, held, ends = (seconds or 0) * 1000, 0, 0
  for _, key in ipairs(call('ZRANGE', P .. 'live', 0, -1)) do
    local leaseUntil = num(bkey(key), 'leaseUntil')
    if leaseUntil > now and leaseUntil < now + LONGEST_LEASE then
      held, ends = held + 1, math.max(ends, leaseUntil)
    end
  end
  if held == 0 then return nil end
  return 'HELD The data has layout ' .. epoch.layout .. ', and cannot get ' .. layout .. ' yet: an older batchwise works on ' ..
    held .. ' of its batches. Stop it. Leases that it leaves end within ' .. math.ceil((ends - now) / 1000) .. ' s'
end

local PLACES = { ['in the create'] = 1, ['to be uploaded'] = 0 }

-- What decides about a batch stood in lastError, and in texts in place of a file's id.
local function toColumns(key)
  local b = call('HMGET', bkey(key), 'lastError', 'providerFileId', 'state', 'providerBatchId', 'wholeFailures', 'updatedAt',
    'disposal')
  local isRead, e = pcall(cjson.decode, b[1] or '{}')
  if not isRead or type(e) ~= 'table' then e = {} end
  if b[2] then set(bkey(key), 'inline', PLACES[b[2]] or 0) end
  if PLACES[b[2]] then set(bkey(key), 'providerFileId', nil) end
  set(bkey(key), 'failedSteps', e.steps)
  set(bkey(key), 'breaks', e.breaks)
  set(bkey(key), 'filePendingSince', e.pendingSince)
  set(bkey(key), 'failedReads', e.failures)
  if given(e.reads) then set(bkey(key), 'shortReads', cjson.encode(e.reads)) end
  if b[3] == 'collecting' then set(bkey(key), 'unreadableReads', e.tries)
  elseif e.code == 'batch_vanished' then
    set(bkey(key), 'lostLooks', e.tries)
    set(bkey(key), 'lostSince', e.since)
  elseif not b[4] then
    set(bkey(key), 'tries', e.tries)
    set(bkey(key), 'triesSince', e.since)
  end
  if b[7] and (string.find(b[7], '{"kind":"split"', 1, true) == 1 or string.find(b[7], '{"kind":"canary"', 1, true) == 1) then
    set(bkey(key), 'splitAt', b[6])
  end
  if tonumber(b[5] or '0') == 0 then return end
  local first, last = e.since, e.refusedAt
  for _, orphan in ipairs(call('HVALS', P .. 'o:' .. key)) do
    local at, action = string.match(orphan, '^([^:]*):(.*)$')
    at = tonumber(at)
    if action == 'ended' then first, last = math.min(first or at, at), math.max(last or at, at) end
  end
  last = last or tonumber(b[6])
  set(bkey(key), 'lastRefusedAt', last)
  set(bkey(key), 'firstRefusedAt', first or last)
end

-- A lane of a group is named after the batch whose members wait there.
local function noteSplit(lane)
  local whole = string.match(lane, '^[^ ]* ([^ .]+)%.')
  if whole and call('EXISTS', bkey(whole)) == 1 then
    set(bkey(whole), 'splitAt', call('HGET', bkey(whole), 'updatedAt'))
  end
end

local function toLayout5()
  for _, key in ipairs(call('ZRANGE', P .. 'live', 0, -1)) do
    toColumns(key)
    noteSplit(call('HGET', bkey(key), 'lane'))
  end
  for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do noteSplit(lane) end
  for _, name in ipairs(call('ZRANGE', P .. 'ledgers', 0, -1)) do
    local note = call('HGET', P .. 'l:' .. name, 'note')
    local isRead, outage = pcall(cjson.decode, note or 'null')
    if isRead and type(outage) == 'table' then
      set(P .. 'l:' .. name, 'outage', note)
      set(P .. 'l:' .. name, 'note', outage.code)
    end
  end
end
`;
