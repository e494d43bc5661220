// Deliberate faults in the streams, for mutate.ts beside it: each replaces one piece of a source by
// another. The piece must occur exactly once.

export interface StreamFault {
  /** The wrong behaviour of the streams. */
  readonly name: string;
  /** File in packages/batchwise/src/stream. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const streamFaults: readonly StreamFault[] = [
  {
    name: "asks for one round per read, whatever maxBufferedChunks says",
    file: "channel.ts",
    find: "return this.#unread() > this.#maxUnread;",
    replace: "return this.#unread() > 0;",
  },
  {
    name: "waits one chunk too early, so that a stream's end is not reached",
    file: "channel.ts",
    find: "return this.#unread() > this.#maxUnread;",
    replace: "return this.#unread() >= this.#maxUnread;",
  },
  {
    name: "keeps one chunk too many",
    file: "channel.ts",
    find: "return this.#unread() > this.#maxUnread;",
    replace: "return this.#unread() > this.#maxUnread + 1;",
  },
  {
    name: "never waits for a reader",
    file: "produce.ts",
    find: "return this.#behind > 0 && !this.#signal.aborted;",
    replace: "return false;",
  },
  {
    name: "does not go on when a reader has caught up",
    file: "produce.ts",
    find: "this.#behind -= 1;\n    if (this.#behind === 0) this.#wake();\n  }\n\n  waits",
    replace: "this.#behind -= 1;\n  }\n\n  waits",
  },
  {
    name: "waits for a reader who has left",
    file: "produce.ts",
    find: "if (wasBehind) this.#behind -= 1;",
    replace: "",
  },
  {
    name: "never warns",
    file: "produce.ts",
    find: "if (isOverdue && !this.#hasWarned) this.#warn(",
    replace: "if (isOverdue && this.#hasWarned) this.#warn(",
  },
  {
    name: "warns at each wait",
    file: "produce.ts",
    find: "    this.#hasWarned = true;\n",
    replace: "    setTimeout(() => { this.#hasWarned = false; }, 0);\n    this.#hasWarned = true;\n",
  },
  {
    name: "leaves its timer when the readers have caught up",
    file: "produce.ts",
    find: "if (timer !== undefined && !isOverdue) clock.clearTimeout(timer);",
    replace: "",
  },
  {
    name: "ends no reader for whom others wait",
    file: "stall.ts",
    find: "if (this.#waitedMs(services.clock.now()) >= services.maxStallMs) end();",
    replace: "if (this.#waitedMs(services.clock.now()) === -2) end();",
  },
  {
    name: "counts what others waited before the batch stood still",
    file: "stall.ts",
    find: "const stalledMs = now - this.#since;",
    replace: "const stalledMs = Number.POSITIVE_INFINITY;",
  },
  {
    name: "does not see that a caller of the batch begins to wait",
    file: "produce.ts",
    find: "    this.#stall.look();\n",
    replace: "",
  },
  {
    name: "drops what was delivered before an error",
    file: "channel.ts",
    find: "if (this.#unread() > 0) return",
    replace: "if (this.#unread() > 0 && this.#error === null) return",
  },
  {
    name: "gives the newest chunk first",
    file: "channel.ts",
    find: "const chunk = this.#chunks[this.#first] as Chunk;",
    replace: "const chunk = this.#chunks.reverse()[this.#first] as Chunk;",
  },
];
