// Deliberate faults in the engine, for scripts/mutate.ts: each replaces one piece of a source by another. The piece has
// to be there exactly once; a fault whose piece is gone must be written anew, or nothing would be shown by it.

export interface Fault {
  /** What the engine does wrong. */
  readonly name: string;
  /** File in packages/batchwise/src/core. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const packing: readonly Fault[] = [
  {
    name: "takes one item more than maxBatchSize",
    file: "engine/scheduler.ts",
    find: "pack(lane.lines, this.#options, now)",
    replace: "pack(lane.lines, { ...this.#options, maxBatchSize: this.#options.maxBatchSize + 1 }, now)",
  },
  {
    name: "overshoots maxBatchCost by one item",
    file: "policy/packer.ts",
    find: "overflow = measured > maxBatchCost && count > 0;",
    replace: "overflow = sum > maxBatchCost && count > 0;",
  },
  {
    name: "lets younger items overtake",
    file: "queue/cursor.ts",
    find: "this.#open(fifo.first);",
    replace: "this.#open(fifo.first?.next ?? fifo.first);",
  },
  {
    name: "takes lower priorities first",
    file: "queue/order.ts",
    find: "if (aPriority !== bPriority) return aPriority > bPriority;",
    replace: "if (aPriority !== bPriority) return aPriority < bPriority;",
  },
  {
    name: "takes larger calls before small ones",
    file: "queue/order.ts",
    find: "a.small && !b.small : a.priority > b.priority",
    replace: "!a.small && b.small : a.priority > b.priority",
  },
  {
    name: "does not notice that a priority has risen",
    file: "queue/order.ts",
    find: "if (line.size > 0 && now - line.oldestAt() >= priorityAgingMs) return true;",
    replace: "if (line.size > 0 && now - line.oldestAt() >= 2 * priorityAgingMs) return true;",
  },
  {
    name: "never raises a priority by waiting",
    file: "queue/order.ts",
    find: "return waitedMs >= priorityAgingMs ? priority + Math.floor(waitedMs / priorityAgingMs) : priority;",
    replace: "return priority + 0 * waitedMs * priorityAgingMs;",
  },
  {
    name: "shares a batch between keys",
    file: "queue/queue.ts",
    find: "return this.#lane(key).line(",
    replace: "return this.#lane(key && undefined).line(",
  },
];

const waiting: readonly Fault[] = [
  {
    name: "holds from the newest item on",
    file: "policy/choose-lane.ts",
    find: "oldestAt: lane.oldestAt(),",
    replace: "oldestAt: now,",
  },
  {
    name: "holds a full queue",
    file: "policy/decide.ts",
    find: 'if (state.isQueueFull) return { reason: "size" };',
    replace: "",
  },
  {
    name: "holds though preferredBatchSize wait",
    file: "policy/decide.ts",
    find: 'if (lane.size >= state.preferredBatchSize) return { reason: "min" };',
    replace: "",
  },
  {
    name: "holds an item past its deadline",
    file: "policy/decide.ts",
    find: "if (lane.pressingAt <= wakeAt",
    replace: "if (lane.pressingAt < 0",
  },
  {
    name: "sends before the turn is over",
    file: "policy/decide.ts",
    find: "if (!state.isTurnOver) return HOLD;",
    replace: "",
  },
  {
    name: "lets a full lane starve the oldest",
    file: "policy/choose-lane.ts",
    find: "if (last.reason !== null) return { lane: oldest, reason: last.reason };",
    replace: "",
  },
  {
    name: "ignores pause",
    file: "policy/decide.ts",
    find: "if (state.isPaused) return HOLD;",
    replace: "",
  },
  {
    name: "ignores flush",
    file: "policy/decide.ts",
    find: 'if (lane.isFlushed) return { reason: lane.full ?? "flush" };',
    replace: "",
  },
  {
    name: "sends more than a flush covers while paused",
    file: "queue/cursor.ts",
    find: "segment !== null && segment.epoch <= this.#lastEpoch ? segment : null",
    replace: "segment !== null && segment.epoch <= this.#lastEpoch + 1 ? segment : null",
  },
  {
    name: "sends more than a flush covers where tenants take turns",
    file: "queue/fair/arrivals.ts",
    find: "segment.epoch <= lastEpoch ? segment : null",
    replace: "segment.epoch <= lastEpoch + 1 ? segment : null",
  },
  {
    name: "resolves a flush while its batches run",
    file: "queue/flush.ts",
    find: "if (this.waiting > 0 || this.#batches > 0) return false;",
    replace: "if (this.waiting > 0) return false;",
  },
  {
    name: "does not drain while paused",
    file: "policy/decide.ts",
    find: "if (state.isDraining) return",
    replace: "if (state.isDraining && !state.isPaused) return",
  },
  {
    name: "never lets blocked submits in",
    file: "submit/admission.ts",
    find: "while (this.#room.size > 0 && this.#queue.size < this.#options.maxQueueSize) {",
    replace: "while (this.#room.size > 0 && this.#queue.size < 0) {",
  },
];

const leaving: readonly Fault[] = [
  {
    name: "hands over who was cancelled",
    file: "submit/callers.ts",
    find: "else seating?.vacate(this.#index);",
    replace: "",
  },
  {
    name: "sets no timer for deadlines",
    file: "time/deadlines.ts",
    find: "if (this.#entries.peek() === due) this.#alarm.set(due.dueAt, now);",
    replace: "",
  },
  {
    name: "leaves a timer behind",
    file: "engine/scheduler.ts",
    find: "choice.lane, choice.reason, now);\n    }\n    this.#wake.clear();",
    replace: "choice.lane, choice.reason, now);\n    }",
  },
  {
    name: "counts the expired as cancelled",
    file: "submit/callers.ts",
    find: 'this.#tell(deadlineError(this.#timeoutMs), "expired");',
    replace: 'this.#tell(deadlineError(this.#timeoutMs), "cancelled");',
  },
  {
    name: "cancels an equal caller too",
    file: "submit/in-flight.ts",
    find: "if (!this.#callers.delete(ticket) || this.#callers.size > 0) return;",
    replace: "if (!this.#callers.delete(ticket)) return;",
  },
  {
    name: "forgets blocked submits when it is closed",
    file: "submit/admission.ts",
    find: "for (let last = this.#room.shift(); last !== undefined; last = this.#room.shift()) all.push(last);",
    replace: "",
  },
];

const running: readonly Fault[] = [
  {
    name: "runs one batch too many",
    file: "engine/slots.ts",
    find: "if (this.#busy < concurrency && this.#staged.length === 0) return true;",
    replace: "if (this.#busy <= concurrency && this.#staged.length === 0) return true;",
  },
  {
    name: "leaks the slot of a batch that failed",
    file: "run/batch-run.ts",
    find: "this.#environment.clock.now());\n    this.#next();",
    replace: "this.#environment.clock.now());",
  },
  {
    name: "keeps the slot of a batch that ran out of time",
    file: "run/batch-run.ts",
    find: "this.#cancellation.abort(this.#error);\n    this.#end();",
    replace: "this.#cancellation.abort(this.#error);",
  },
  {
    name: "frees the slot while promises in places are open",
    file: "run/batch-run.ts",
    find: "if (late === 0) this.#next();",
    replace: "this.#next();",
  },
  {
    name: "calls once more than retry.attempts",
    file: "run/batch-run.ts",
    find: "this.#attempt >= retry.attempts",
    replace: "this.#attempt > retry.attempts",
  },
  {
    name: "hands over again who left before the next attempt",
    file: "queue/segment.ts",
    find: "const sink = sourceSinks[index] as Sink | null;\n      if (sink === null) continue;",
    replace:
      "const sink = sourceSinks[index] as Sink;\n      if (sink === null && source.owner.holdsWaiting) continue;",
  },
  {
    name: "gives callers each other's answers where a batch begins with the rest of a segment",
    file: "queue/segment.ts",
    find: "this.#copyEntries(this, head, length);",
    replace: "this.#copyEntries(this, 0, length - head);",
  },
  {
    name: "computes equal items twice",
    file: "submit/in-flight.ts",
    find: "return this.#byScope.get(scope);",
    replace: "return this.#byScope.get(scope + scope);",
  },
  {
    name: "mixes the results of a merged call up after a hole",
    file: "queue/extras.ts",
    find: "source.positionAt(index)",
    replace: "source.positionAt(at)",
  },
  {
    name: "settles a caller twice",
    file: "run/settle.ts",
    find: "const now = this.#settling.clock.now();\n      this.#segment.sinks[index] = null;",
    replace: "const now = this.#settling.clock.now();",
  },
  {
    name: "gives an Error in a place out as a result",
    file: "run/settle.ts",
    find: "if (!isError(place)) {",
    replace: "if (!isError(place) || isError(place)) {",
  },
];

export const faults: readonly Fault[] = [...packing, ...waiting, ...leaving, ...running];
