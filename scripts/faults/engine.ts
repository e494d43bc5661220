// Deliberate faults in the engine. Each breaks a promise that the worlds of test/simulation check.

import type { Fault } from "./fault.ts";

const packing: readonly Fault[] = [
  {
    name: "takes one item more than maxBatchSize",
    file: "core/engine/next-batch.ts",
    find: "const whole = this.packer.pack(lane, caps, now, upTo);",
    replace: "const whole = this.packer.pack(lane, { ...caps, maxBatchSize: caps.maxBatchSize + 1 }, now, upTo);",
  },
  {
    name: "overshoots maxBatchCost by one item",
    file: "core/policy/pack.ts",
    find: "if (whole > maxBatchCost && count > 0) return",
    replace: "if (cost > maxBatchCost && count > 0) return",
  },
  {
    name: "breaks the cap where batchCost submits",
    file: "core/policy/pack.ts",
    find: "const entries = fit.entries.slice(0, count);",
    replace: "const entries = read(count);",
  },
  {
    name: "leaves out who waits first where the order is by length",
    file: "padded/group-by-length.ts",
    find: "const first = order.indexOf(0);",
    replace: "const first = order.indexOf(order.length - 1);",
  },
  {
    name: "takes more by length than the cap allows",
    file: "padded/group-by-length.ts",
    find: "if (rows > maxRows || (rows > 1 && rows * longest > budget)) break;",
    replace: "if (rows > maxRows || (rows > 2 && (rows - 1) * longest > budget)) break;",
  },
  {
    name: "lets younger items overtake",
    file: "core/queue/chunk.ts",
    find: "this.entries.push(entry);",
    replace: "this.entries.unshift(entry);",
  },
  {
    name: "takes lower priorities first",
    file: "core/queue/rank.ts",
    find: "const leadMs = priority * priorityAgingMs",
    replace: "const leadMs = -priority * priorityAgingMs",
  },
  {
    name: "takes lower priorities first where no time outweighs them",
    file: "core/queue/rank.ts",
    find: "tier: -priority",
    replace: "tier: priority",
  },
  {
    name: "takes larger calls before small ones",
    file: "core/queue/rank.ts",
    find: "(isSmall ? priorityAgingMs / 2 : 0)",
    replace: "(isSmall ? 0 : priorityAgingMs / 2)",
  },
  {
    name: "reads on in a line past the entries of another",
    file: "core/queue/merged.ts",
    find: "else this.#candidates.put(",
    replace: "else if (candidate.value.value.rankOf(next) < candidate.key) this.#candidates.put(",
  },
  {
    name: "opens too few lines",
    file: "core/queue/merged.ts",
    find: "this.#add(this.#lines.below(place, 2));",
    replace: "",
  },
  {
    name: "never lets time outweigh a priority",
    file: "core/queue/lane.ts",
    find: "moment.at - this.#lead.leadMs;",
    replace: "moment.at / 1e9 - this.#lead.leadMs;",
  },
  {
    name: "keeps the low priority of an entry that an urgent one joins",
    file: "core/submit/in-flight.ts",
    find: "if (entry.holder !== null) entry.holder.update(entry, submit);",
    replace: "if (entry.holder !== null) return;",
  },
  {
    name: "forgets a lane with entries",
    file: "core/queue/queue.ts",
    find: "if (lane.size === 0) this.#forget(lane);",
    replace: "if (lane.size >= 0) this.#forget(lane);",
  },
  {
    name: "shares a batch between keys",
    file: "core/queue/queue.ts",
    find: "const key = this.#isKeyed ? of : undefined;",
    replace: "const key = this.#isKeyed ? undefined : of;",
  },
];

const waiting: readonly Fault[] = [
  {
    name: "holds from the newest item on",
    file: "core/policy/decide.ts",
    find: "const heldUntil = lane.oldestAt() + state.maxWaitMs;",
    replace: "const heldUntil = now + state.maxWaitMs;",
  },
  {
    name: "holds a full queue",
    file: "core/policy/decide.ts",
    find: 'if (state.isQueueFull) return { reason: "size" };',
    replace: "",
  },
  {
    name: "holds though preferredBatchSize wait",
    file: "core/policy/decide.ts",
    find: 'if (lane.size >= state.preferredBatchSize) return { reason: "preferred" };',
    replace: "",
  },
  {
    name: "holds an item past its deadline",
    file: "core/policy/decide.ts",
    find: 'if (now >= leaveBy) return { reason: "deadline" };',
    replace: "",
  },
  {
    name: "misses a deadline just over the wait",
    file: "core/policy/decide.ts",
    find: "if (leadMs !== undefined) return dueAt - leadMs;",
    replace: "if (leadMs !== undefined) return dueAt <= heldUntil ? dueAt - leadMs : Infinity;",
  },
  {
    name: "sends at once for any deadline in the wait",
    file: "core/policy/decide.ts",
    find: "if (leadMs !== undefined) return dueAt - leadMs;",
    replace: "if (leadMs !== undefined && dueAt > heldUntil) return dueAt - leadMs;",
  },
  {
    name: "forgets how long batches run",
    file: "core/engine/next-batch.ts",
    find: "this.#times.record(callMs);",
    replace: "",
  },
  {
    name: "sends before the turn is over",
    file: "core/policy/decide.ts",
    find: 'if (state.gate !== "open") return HOLD;',
    replace: "",
  },
  {
    name: "lets other lanes starve the oldest",
    file: "core/policy/choose-lane.ts",
    find: "for (const lane of [queue.oldestLane, queue.earliestDueLane]) {",
    replace: "for (const lane of [queue.earliestDueLane]) {",
  },
  {
    name: "ignores pause",
    file: "core/policy/decide.ts",
    find: "if (state.isPaused) return HOLD;",
    replace: "",
  },
  {
    name: "ignores flush",
    file: "core/policy/decide.ts",
    find: 'if (lane.isFlushed) return { reason: full ?? "flush" };',
    replace: "",
  },
  {
    name: "sends more than a flush covers while paused",
    file: "core/queue/chunk.ts",
    find: "moment.sequence <= this.#upTo)",
    replace: "moment.sequence <= this.#upTo + 1)",
  },
  {
    name: "sends more than a flush covers where lines are merged",
    file: "core/queue/merged.ts",
    find: "place.value.reader(this.#upTo);",
    replace: "place.value.reader(this.#upTo + 1);",
  },
  {
    name: "flushes all lanes in place of one",
    file: "core/engine/scheduler.ts",
    find: "this.#queue.flush(key, this.#turn.endMoment(), pausing, done);",
    replace: "this.#queue.flush(undefined, this.#turn.endMoment(), pausing, done);",
  },
  {
    name: "resolves a flush while its batches run",
    file: "core/queue/flush.ts",
    find: "for (const flush of flushes) flush.await();",
    replace: "",
  },
  {
    name: "tells the first flush alone of a batch that starts",
    file: "core/queue/flush.ts",
    find: "const flushes = this.#marks.slice(this.#firstOver(first)).map",
    replace: "const flushes = this.#marks.slice(this.#firstOver(first)).slice(0, 1).map",
  },
  {
    name: "hands over an item that had no time when it was submitted",
    file: "core/submit/intake.ts",
    find: "else if (timeoutMs <= 0) refuse",
    replace: "else if (timeoutMs < -1e9) refuse",
  },
  {
    name: "resolves idle while a batch pauses before a retry",
    file: "core/engine/slots.ts",
    find: "return this.#running.length > 0 || this.pausing.size > 0;",
    replace: "return this.#running.length > 0;",
  },
  {
    name: "does not drain while paused",
    file: "core/engine/scheduler.ts",
    find: "this.next.isPaused = false;\n    this.#look();",
    replace: "this.#look();",
  },
];

const admission: readonly Fault[] = [
  {
    name: "never lets blocked submits in",
    file: "core/submit/admission.ts",
    find: "if (outside === null || outside.size === 0 || this.#free() <= 0) return;",
    replace: "if (outside === null || outside.size >= 0) return;",
  },
  {
    name: "lets blocked submits in first come, first served",
    file: "core/submit/admission.ts",
    find: "const next = pack(outside.oldestLane as Lane, caps, Infinity);",
    replace:
      "const next = pack(outside.oldestLane as Lane, { ...caps, maxBatchSize: outside.size }, Infinity);\n    (next.entries as Entry[]).sort((a, b) => a.moment.at - b.moment.at).splice(this.#free());",
  },
  {
    name: "lets one who comes now overtake the blocked",
    file: "core/submit/admission.ts",
    find: "return this.#free() > 0 && (this.#outside === null || this.#outside.size === 0);",
    replace: "return this.#free() > 0;",
  },
  {
    name: "leaves the items of pausing batches out of the bound",
    file: "core/submit/admission.ts",
    find: "this.#queue.size - this.#retrying",
    replace: "this.#queue.size",
  },
  {
    name: "resolves ready() without room",
    file: "core/submit/admission.ts",
    find: "if (this.#ready === null || !this.#hasRoom()) return;\n    const given = this.#ready.splice(0, Math.max(0, this.#free() - this.#handedOut));",
    replace: "if (this.#ready === null) return;\n    const given = this.#ready.splice(0);",
  },
  {
    name: "leaves room empty that a retry has made",
    file: "core/engine/scheduler.ts",
    find: "this.#grantSlots();\n    this.#admitBlocked();",
    replace: "this.#admitBlocked();\n    this.#grantSlots();",
  },
  {
    name: "takes a part of a call that can never fit",
    file: "core/submit/intake.ts",
    find: 'onFull === "reject" && entries.length > maxQueueSize',
    replace: 'onFull === "reject" && entries.length < 0 * maxQueueSize',
  },
  {
    name: "forgets blocked submits when it is closed",
    file: "core/submit/admission.ts",
    find: "return this.#outside?.clear() ?? [];",
    replace: "return [];",
  },
];

const leaving: readonly Fault[] = [
  {
    name: "hands over who was cancelled",
    file: "core/submit/callers.ts",
    find: "place?.callerLeft(this);",
    replace: "",
  },
  {
    name: "sets no timer for deadlines",
    file: "core/time/deadlines.ts",
    find: "if (this.#heap.first === duration) this.#timer.set(due.dueAt, now);",
    replace: "",
  },
  {
    name: "leaves a timer behind",
    file: "core/engine/scheduler.ts",
    find: "else this.#wake?.clear();",
    replace: "",
  },
  {
    name: "counts the expired as cancelled",
    file: "core/submit/callers.ts",
    find: 'this.#timeoutMs), "expired",',
    replace: 'this.#timeoutMs), "cancelled",',
  },
  {
    name: "cancels an equal caller too",
    file: "core/submit/in-flight.ts",
    find: "if (this.#callers.size === 0) {",
    replace: "if (this.#callers.size >= 0) {",
  },
];

const running: readonly Fault[] = [
  {
    name: "runs one batch too many",
    file: "core/engine/slots.ts",
    find: "return this.#busy < this.#services.options.concurrency;",
    replace: "return this.#busy <= this.#services.options.concurrency;",
  },
  {
    name: "leaks the slot of a batch that failed",
    file: "core/run/recovery.ts",
    find: "this.reject(error);\n      this.next(askedMs);",
    replace: "this.reject(error);",
  },
  {
    name: "keeps the slot of a batch that ran out of time",
    file: "core/run/batch.ts",
    find: "    recovery.next(0);\n",
    replace: "",
  },
  {
    name: "frees the slot while promises in places are open",
    file: "core/run/call.ts",
    find: "if (this.#awaited === 0 && ",
    replace: "if (",
  },
  {
    name: "holds the slot in a pause before a retry",
    file: "core/engine/slots.ts",
    find: "if (batch.holdsSlot) this.#busy -= 1;",
    replace: 'if (batch.holdsSlot && batch.phase !== "pausing") this.#busy -= 1;',
  },
  {
    name: "lets a new batch go before a retry that is due",
    file: "core/engine/slots.ts",
    find: "get next(): Batch | undefined {",
    replace:
      "get next(): Batch | undefined {\n    if (this.pausing.size > 0 && this.#running.length > 0) return undefined;",
  },
  {
    name: "calls once more than retry.attempts",
    file: "core/run/retry-policy.ts",
    find: "attempt >= retry.attempts",
    replace: "attempt > retry.attempts",
  },
  {
    name: "hands over again who left before the next attempt",
    file: "core/run/batch.ts",
    find: "if (this.live === this.size) return true;",
    replace: "if (this.entries.length === this.size) return true;",
  },
  {
    name: "gives callers each other's answers",
    file: "core/run/places.ts",
    find: "const place = places[index];\n  if (place === undefined",
    replace: "const place = places[places.length - 1 - index];\n  if (place === undefined",
  },
  {
    name: "gives the items of a call each other's answers",
    file: "core/run/call.ts",
    find: "succeed(recipient, place, now, entry.position);",
    replace: "succeed(recipient, place, now, index);",
  },
  {
    name: "computes equal items twice",
    file: "core/submit/in-flight.ts",
    find: "return this.#byScope.get(scopeOf(key, dedupeKey));",
    replace: "return this.#byScope.get(scopeOf(key, dedupeKey + dedupeKey));",
  },
  {
    name: "answers from the cache of another key",
    file: "core/submit/in-flight.ts",
    find: "scopeOf(key, dedupeKey), cacheKeyOf(key, dedupeKey), entry",
    replace: "scopeOf(key, dedupeKey), cacheKeyOf(undefined, dedupeKey), entry",
  },
  {
    name: "stores a result that was forgotten while it ran",
    file: "core/submit/in-flight.ts",
    find: "if (this.isStored) this.#inFlight.cache?.store",
    replace: "this.#inFlight.cache?.store",
  },
  {
    name: "settles a caller twice",
    file: "core/run/call.ts",
    find: "entry.recipient = null;\n      if (entry.moment",
    replace: "if (entry.moment",
  },
  {
    name: "gives an Error in a place out as a result",
    file: "core/run/places.ts",
    find: "&& !isThenable(place) && isError(place)) throw place;",
    replace: "&& !isThenable(place) && isError(place) && places.length < 0) throw place;",
  },
  {
    name: "counts open items twice after resetStats",
    file: "core/stats/recorder.ts",
    find: "if (open > 0) this.submitted(open, { at: now });",
    replace: "if (open > 0) this.submitted(2 * open, { at: now });",
  },
];

export const engineFaults: readonly Fault[] = [...packing, ...waiting, ...admission, ...leaving, ...running];
