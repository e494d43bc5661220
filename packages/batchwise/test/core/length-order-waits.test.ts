// `order: "length"`: how long an item may be skipped, that no deadline is missed for another item,
// and the total gain over no batching.

import { createBatcher } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runsAllCases } from "../dispatch/support/breadth.ts";
import { MIXES, serveOften } from "./support/closed-loop.ts";
import { miniLmMs } from "./support/encoder-times.ts";

interface Text {
  readonly length: number;
  readonly tenant: string;
}

/** Returns the items of a batch after 10 ms. */
function handlerOf10Ms<Item>(
  clock: VirtualClock,
  onBatch: (items: readonly Item[]) => unknown = () => {},
): (items: Item[]) => Promise<Item[]> {
  return async (items) => {
    onBatch(items);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 10));
    return items;
  };
}

const byLength = { order: "length", cost: (length: number) => length } as const;

test("a batch that goes early for a deadline has that item with it, however unlike it is to the first", async () => {
  const clock = virtualClock();
  const batcher = createBatcher(handlerOf10Ms(clock), { ...byLength, maxWaitMs: 100, clock });
  const warm = batcher.submit(20);
  await clock.advance(200);
  await warm;
  const long = batcher.submit(500);
  const others = [batcher.submit(400), batcher.submit(300)];
  const urgent = [batcher.submit(5, { timeoutMs: 60 }), batcher.submit(300, { timeoutMs: 61 })];
  await clock.runAll();
  expect(await Promise.all([long, ...others, ...urgent])).toEqual([500, 400, 300, 5, 300]);
});

test("where a batch cannot hold all, the earliest of the items that would be late with the next batch goes", async () => {
  const clock = virtualClock();
  const calls: (readonly number[])[] = [];
  const batcher = createBatcher(
    handlerOf10Ms(clock, (lengths) => calls.push(lengths)),
    {
      ...byLength,
      maxBatchSize: 4,
      clock,
    },
  );
  const warm = batcher.submit(20);
  await clock.advance(20);
  await warm;
  const running = batcher.submit(1);
  await clock.advance(1);
  const many = Array.from({ length: 12 }, () => batcher.submit(50));
  const urgent = batcher.submit(500, { timeoutMs: 30 });
  await clock.runAll();
  expect(await urgent).toBe(500);
  await Promise.all([running, ...many]);
  expect(calls[2]).toContain(500);
});

test("with fairBy, too, the item that has waited longest is passed over by at most one batch", async () => {
  const drawnText = fc.record({
    length: fc.constantFrom(4, 5, 6, 30, 90, 500),
    tenant: fc.constantFrom("a", "a", "a", "b", "c"),
  });
  const drawnCaps = fc.record({
    maxBatchSize: fc.integer({ min: 1, max: 5 }),
    maxBatchCost: fc.constantFrom(500, 1_000, Number.POSITIVE_INFINITY),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(drawnText, { maxLength: 12 }), { maxLength: 12 }), drawnCaps, passedOverTwice),
    { numRuns: 200 },
  );
});

/**
 * Submits texts while each batch runs. Throws if the oldest waiting one is in neither of two
 * successive batches.
 */
async function passedOverTwice(rounds: readonly (readonly Text[])[], caps: object): Promise<void> {
  const clock = virtualClock();
  const waiting: Text[] = [];
  let passedOver: Text | undefined;
  const onBatch = (texts: readonly Text[]): void => {
    const [oldest] = waiting;
    for (const text of texts) waiting.splice(waiting.indexOf(text), 1);
    if (oldest === passedOver) expect(texts).toContain(oldest);
    passedOver = oldest !== undefined && texts.includes(oldest) ? undefined : oldest;
  };
  const options = {
    order: "length",
    cost: ({ length }: Text) => length,
    fairBy: ({ tenant }: Text) => tenant,
  } as const;
  const batcher = createBatcher(handlerOf10Ms(clock, onBatch), { ...options, ...caps, clock });
  const answers: Promise<Text>[] = [];
  for (const texts of rounds) {
    for (const { ...text } of texts) {
      waiting.push(text);
      answers.push(batcher.submit(text));
      // Of submits in one moment, none is older.
      await clock.advance(0.1);
    }
    await clock.advance(5);
  }
  await clock.runAll();
  await Promise.all(answers);
  expect(waiting).toEqual([]);
}

// Times of a machine on which a call costs as much as 15 tokens, without HTTP. The inference
// benchmark requires 2.0 and 1.25: over HTTP, batches also save messages to threads.
test.each([
  ["short", 1.9, 0.9],
  ["mixed", 1.2, 1.1],
  ["long", 0.97, 1.05],
] as const)(
  "against no batching, %s texts: %f x as many, and the slowest wait at most %f x as long",
  async (name, least, most) => {
    const measured = runsAllCases ? 1_500 : 1_000;
    const load = { timesAfter: () => miniLmMs, mixAfter: () => MIXES[name], skipped: 300, measured };
    const alone = await serveOften(load, { maxBatchSize: 1 });
    const batched = await serveOften(load, { maxBatchCost: "learn" });
    expect(batched.costPerSecond / alone.costPerSecond).toBeGreaterThan(least);
    expect(batched.p99Ms / alone.p99Ms).toBeLessThan(most);
  },
);
