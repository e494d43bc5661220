// The limit in Redis: one script, so that each request is atomic. It keeps the two buckets, the
// queue of waiting processes, and the recently seen processes. The clock is the server's.
//
// Keys: the state (a hash), the queue (processes by the start of their wait), each one's requested
// cost and time of return (a hash), and all processes by the time when they were last seen. Numbers
// are written with 17 digits, so none is rounded. A request reads at most WINDOW places of the
// queue, however long it is.
//
// A process reports its own waiting time. So it keeps its place if it comes back late, or after the
// queue was lost, and no other process waits for it until then.
//
// When a connection breaks, clients send unanswered commands again, however old they are. So each
// request has a time, by this clock, after which it gets no answer; 0 if its process does not know
// this clock yet.

/** A shorter wait in ms counts as none, so that rounding does not cause one. */
const NEGLIGIBLE_MS = 1e-6;
/** The queue does not wait for a process that is later than this. */
const PATIENCE_MS = 250;
/** Timers are exact to some milliseconds: a process that is later than this may have ended. */
const OVERDUE_MS = 50;
/** A waiting process comes back within this time, to learn of a shorter queue. */
const COME_BACK_MS = 2_000;
/**
 * Number of processes at the front of the queue for which tokens are reserved. The others only
 * wait.
 */
const WINDOW = 64;
/** Processes behind the window come back no sooner than this. */
const BEHIND_WINDOW_MS = 100;
/** Processes seen within this time count as sharing the limit. */
const SEEN_MS = 10_000;
/** Shortest time between two removals of ended processes, which also extend the keys' expiry. */
const SWEEP_MS = 1_000;
/** If the last request is further ahead than this, the clock was set back. */
const AHEAD_MS = 1_000;

export const SCRIPT: string = `
local op, me = ARGV[1], ARGV[2]
if op == 'look' and ARGV[8] == '0' then return { 0, '0', redis.call('ZCARD', KEYS[4]) } end
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local perMs = { tonumber(ARGV[3]), tonumber(ARGV[5]) }
local caps = { tonumber(ARGV[4]), tonumber(ARGV[6]) }
local expires = tonumber(ARGV[7])
local function text(number) return string.format('%.17g', number) end
if op ~= 'hold' and expires > 0 and now > expires then return { -1, '0', 0, text(now) } end
local stored = redis.call('HMGET', KEYS[1], 'at', 'calls', 'cost', 'held', 'contact', 'returned', 'swept')
local known = tonumber(stored[1])
local backMs = 0
if known and known > now + ${AHEAD_MS} then
  backMs = known - now
  -- Its times are those of another clock. The processes come back to their places.
  redis.call('DEL', KEYS[2], KEYS[3])
  for _, process in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do redis.call('ZINCRBY', KEYS[4], text(-backMs), process) end
end
local at = (known or now) - backMs
local levels = { tonumber(stored[2]) or caps[1], tonumber(stored[3]) or caps[2] }
local held = (tonumber(stored[4]) or 0) - backMs
local contact, returned = (tonumber(stored[5]) or 0) - backMs, (tonumber(stored[6]) or 0) - backMs
local swept = (tonumber(stored[7]) or 0) - backMs
for i = 1, 2 do
  levels[i] = math.min(caps[i], levels[i] + math.max(0, now - at) * perMs[i])
end
at = math.max(at, now)

redis.call('ZADD', KEYS[4], text(now), me)
local isSweep = now - swept > ${SWEEP_MS}
if isSweep then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', '(' .. text(now - ${SEEN_MS}))
  swept = now
end
local seen = redis.call('ZCARD', KEYS[4])

local function leave(processes)
  redis.call('ZREM', KEYS[2], unpack(processes))
  redis.call('HDEL', KEYS[3], unpack(processes))
end

-- Reads the front of the queue: since when each process waits, and for which cost; and the place of
-- this process. Removes late processes.
local function readLine()
  local front = redis.call('ZRANGE', KEYS[2], 0, ${WINDOW - 1}, 'WITHSCORES')
  local names, line, late, place = {}, {}, {}, nil
  for i = 1, #front, 2 do names[#names + 1] = front[i] end
  local asks = #names > 0 and redis.call('HMGET', KEYS[3], unpack(names)) or {}
  for i, name in ipairs(names) do
    local asked, due = string.match(asks[i] or '0 0', '^(%S+) (%S+)$')
    if name ~= me and tonumber(due) < now - ${PATIENCE_MS} then late[#late + 1] = name
    else
      line[#line + 1] = { since = tonumber(front[2 * i]), asked = tonumber(asked), due = tonumber(due) }
      if name == me then place = #line end
    end
  end
  if #late > 0 then leave(late) end
  return line, #names == ${WINDOW}, place
end

local answer = { 0, '0', seen, text(now) }
local isJoining = false
if op == 'ask' then
  local asked, since = tonumber(ARGV[8]), now - tonumber(ARGV[9])
  local needs = { 1, asked }
  if caps[2] >= 0 then needs[2] = math.min(asked, caps[2]) end
  local line, isLong, place = readLine()
  local behind = isLong and not place and redis.call('ZSCORE', KEYS[2], me)
  since = tonumber(behind) or since
  local ahead, othersSince = { 0, 0 }, nil
  for i, process in ipairs(line) do
    if i ~= place then othersSince = othersSince or process.since end
    if i < (place or #line + 1) and (place or process.since <= since) then
      ahead = { ahead[1] + 1, ahead[2] + process.asked }
    end
  end
  -- A process behind others goes first if there is enough for all of them: no process waits for a
  -- slow one.
  local wait = held - now
  if isLong and ahead[1] == #line then
    local rank = redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. text(since))
    if ahead[1] > 0 then ahead = { math.max(ahead[1], rank), ahead[2] * math.max(1, rank / ahead[1]) } end
    wait = math.max(wait, ${BEHIND_WINDOW_MS})
  end
  for i = 1, 2 do
    local missing = ahead[i] + needs[i] - levels[i]
    if caps[i] >= 0 and missing > 0 then wait = math.max(wait, at - now + missing / perMs[i]) end
  end
  if wait <= ${NEGLIGIBLE_MS} then
    if place then leave({ me }) end
    for i = 1, 2 do
      if caps[i] >= 0 then levels[i] = levels[i] - needs[i] end
    end
    answer = { 1, text(needs[2]), seen, text(now), text(othersSince and now - othersSince or 0) }
  else
    -- Where the first is overdue, it may never come: this one looks when it is late.
    local isOverdue = place ~= 1 and line[1] and line[1].due < now - ${OVERDUE_MS}
    wait = math.min(wait, isOverdue and ${PATIENCE_MS} or ${COME_BACK_MS})
    isJoining = not place and not behind
    if isJoining then redis.call('ZADD', KEYS[2], text(since), me) end
    redis.call('HSET', KEYS[3], me, text(needs[2]) .. ' ' .. text(now + wait))
    answer = { 0, text(wait), seen, text(now) }
  end
elseif op == 'leave' then
  leave({ me })
elseif op == 'hold' then
  held = math.max(held, now + tonumber(ARGV[8]))
elseif op == 'give' then
  for i = 1, 2 do
    if caps[i] >= 0 then levels[i] = math.min(caps[i], levels[i] + tonumber(ARGV[7 + i])) end
  end
elseif op == 'back' then
  local since, grace, share = now - tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  if contact < since then
    -- No process was here meanwhile: all have used their shares, and some will do so a moment
    -- longer.
    levels, at, contact, returned = { 0, 0 }, now + grace, now, now
  else
    -- Other processes were here: subtracts what this share granted beside them, down to minus one
    -- full bucket.
    local besideMs = math.max(0, now - math.max(since, returned + grace))
    for i = 1, 2 do
      local left = math.max(levels[i] - besideMs * perMs[i] * share, -caps[i])
      if caps[i] >= 0 then levels[i] = math.min(levels[i], left) end
    end
  end
end
-- A process that only looks uses nothing of the limit.
if expires > 0 and op ~= 'look' then contact = now end

redis.call('HSET', KEYS[1], 'at', text(at), 'calls', text(levels[1]), 'cost', text(levels[2]),
  'held', text(held), 'contact', text(contact), 'returned', text(returned), 'swept', text(swept))
if isSweep or isJoining or (op ~= 'ask' and op ~= 'look') then
  local ttl = 60000 + math.max(0, held - now)
  for i = 1, 2 do
    -- Longer than an empty bucket, and what it owes, take to fill.
    if caps[i] >= 0 then ttl = math.max(ttl, 60000 + (caps[i] - math.min(0, levels[i])) / perMs[i]) end
  end
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, math.ceil(ttl)) end
end
return answer
`;
