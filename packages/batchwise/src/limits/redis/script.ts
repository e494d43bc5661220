// The limit as Redis keeps it: one script, so that each question is answered as a whole. It holds the two buckets, who
// waits in which order, and which processes have been seen lately. The time is the server's.
//
// Keys: the state (a hash), the queue of processes by ticket, the same by the time they were told to come back, and the
// processes by the time they were last seen. Numbers are written with 17 digits, so none is rounded.
//
// Clients send again what was not answered when a connection broke, however long ago: a question has a time, by this
// clock, after which it is not answered any more. 0 where its process does not know this clock yet.

/** Fewer milliseconds than this are no wait: rounding must not make one. */
const NEGLIGIBLE_MS = 1e-6;
/** A process that does not come back within this time after it was told to loses its place. */
const PATIENCE_MS = 250;
/** A process that was seen within this time counts as one of those that share. */
const SEEN_MS = 10_000;
/** Where the last question is further ahead than this, the clock has gone back: all stored times move back with it. */
const AHEAD_MS = 1_000;

export const SCRIPT: string = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local op, me = ARGV[1], ARGV[2]
local perMs = { tonumber(ARGV[3]), tonumber(ARGV[5]) }
local caps = { tonumber(ARGV[4]), tonumber(ARGV[6]) }
local expires = tonumber(ARGV[7])
local function text(number) return string.format('%.17g', number) end
if op ~= 'hold' and expires > 0 and now > expires then return { -1, '0', 0, text(now) } end
local stored = redis.call('HMGET', KEYS[1], 'at', 'calls', 'cost', 'held', 'ticket', 'contact', 'returned')
local known = tonumber(stored[1])
local backMs = 0
if known and known > now + ${AHEAD_MS} then
  backMs = known - now
  for _, times in ipairs({ KEYS[3], KEYS[4] }) do
    for _, process in ipairs(redis.call('ZRANGE', times, 0, -1)) do redis.call('ZINCRBY', times, text(-backMs), process) end
  end
end
local at = (known or now) - backMs
local levels = { tonumber(stored[2]) or caps[1], tonumber(stored[3]) or caps[2] }
local held, ticket = (tonumber(stored[4]) or 0) - backMs, tonumber(stored[5]) or 0
local contact, returned = (tonumber(stored[6]) or 0) - backMs, (tonumber(stored[7]) or 0) - backMs
for i = 1, 2 do
  levels[i] = math.min(caps[i], levels[i] + math.max(0, now - at) * perMs[i])
end
at = math.max(at, now)

redis.call('ZADD', KEYS[4], text(now), me)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', '(' .. text(now - ${SEEN_MS}))
local seen = redis.call('ZCARD', KEYS[4])

local function leave(process)
  redis.call('ZREM', KEYS[2], process)
  redis.call('ZREM', KEYS[3], process)
  redis.call('HDEL', KEYS[1], 'asked:' .. process)
end

local answer = { 0, '0', seen, text(now) }
if op == 'ask' then
  for _, late in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now - ${PATIENCE_MS}))) do
    if late ~= me then leave(late) end
  end
  local asked = tonumber(ARGV[8])
  local needs = { 1, asked }
  if caps[2] >= 0 then needs[2] = math.min(asked, caps[2]) end
  local ahead = { 0, 0 }
  for _, other in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    if other == me then break end
    ahead[1] = ahead[1] + 1
    ahead[2] = ahead[2] + (tonumber(redis.call('HGET', KEYS[1], 'asked:' .. other)) or 0)
  end
  -- Who is behind others goes first where there is enough for all of them: nobody waits for one who is slow to come.
  local wait = held - now
  for i = 1, 2 do
    local missing = ahead[i] + needs[i] - levels[i]
    if caps[i] >= 0 and missing > 0 then wait = math.max(wait, at - now + missing / perMs[i]) end
  end
  if wait <= ${NEGLIGIBLE_MS} then
    leave(me)
    for i = 1, 2 do
      if caps[i] >= 0 then levels[i] = levels[i] - needs[i] end
    end
    answer = { 1, text(needs[2]), seen, text(now) }
  else
    if not redis.call('ZSCORE', KEYS[2], me) then
      ticket = ticket + 1
      redis.call('ZADD', KEYS[2], ticket, me)
    end
    redis.call('ZADD', KEYS[3], text(now + wait), me)
    redis.call('HSET', KEYS[1], 'asked:' .. me, text(needs[2]))
    answer = { 0, text(wait), seen, text(now) }
  end
elseif op == 'leave' then
  leave(me)
elseif op == 'hold' then
  held = math.max(held, now + tonumber(ARGV[8]))
elseif op == 'give' then
  for i = 1, 2 do
    if caps[i] >= 0 then levels[i] = math.min(caps[i], levels[i] + tonumber(ARGV[7 + i])) end
  end
elseif op == 'back' then
  local since, grace, share = now - tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  if contact < since then
    -- Nobody was here meanwhile: all have used their shares, and some will a moment longer.
    levels, at, contact, returned = { 0, 0 }, now + grace, now, now
  else
    -- Others were: what its share came to beside them is taken off, down to one empty bucket below nothing.
    local besideMs = math.max(0, now - math.max(since, returned + grace))
    for i = 1, 2 do
      local left = math.max(levels[i] - besideMs * perMs[i] * share, -caps[i])
      if caps[i] >= 0 then levels[i] = math.min(levels[i], left) end
    end
  end
end
-- Who only looks uses nothing of the limit.
if expires > 0 and op ~= 'look' then contact = now end

redis.call('HSET', KEYS[1], 'at', text(at), 'calls', text(levels[1]), 'cost', text(levels[2]),
  'held', text(held), 'ticket', ticket, 'contact', text(contact), 'returned', text(returned))
local ttl = 60000 + math.max(0, held - now)
for i = 1, 2 do
  if caps[i] >= 0 then ttl = math.max(ttl, 60000 + (caps[i] - levels[i]) / perMs[i]) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, math.ceil(ttl)) end
return answer
`;
