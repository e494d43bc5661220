// Run with --expose-gc: one producer of many large rounds, and one slower reader. Prints as JSON by
// how much the producer was ahead at most, and how much the heap grew between the warm start and
// the end.

import { batchStream } from "../../src/index.ts";

const ROUNDS = 100_000;
const WARM = 10_000;
const collect = (globalThis as { gc?: () => void }).gc ?? ((): void => {});

let produced = 0;
const stream = batchStream<number, number[]>(async function* (items) {
  while (produced < ROUNDS) {
    produced += 1;
    yield items.map(() => new Array<number>(100).fill(produced));
  }
});

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

let consumed = 0;
let ahead = 0;
let warm = 0;
for await (const chunk of stream(1)) {
  consumed += 1;
  if (chunk[0] !== consumed) throw new Error(`Chunk ${consumed} was ${chunk[0]}.`);
  for (let turn = 0; turn < 5; turn += 1) await null;
  if (consumed % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  ahead = Math.max(ahead, produced - consumed);
  if (consumed === WARM) warm = heap();
}
console.log(JSON.stringify({ produced, consumed, ahead, grownBytes: heap() - warm }));
