// Plain entries wait in chunks as long as a batch, so that a batch takes its chunk as it is.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Entry } from "../../../src/core/queue/entry.ts";
import { Moment } from "../../../src/core/time/turn.ts";
import { range } from "../../support.ts";
import { Kit, otherHolder } from "../support/queue-kit.ts";

/** An entry without rare facts. */
function plainOf(id: number): Entry {
  return new Entry(id, () => {}, new Moment(0, 0), 0);
}

type Step = readonly [how: string, count: number];

/** A queue with chunks of 3, and what waits in it by the order of arrival. */
class Pair {
  readonly #kit: Kit = new Kit();
  readonly #waiting: number[] = [];
  #next = 0;

  constructor() {
    this.#kit.queue.chunkLength = 3;
  }

  step([how, count]: Step): void {
    if (how === "leave") this.#leave(count);
    else if (how === "raise") this.#raise();
    else if (how === "take whole") this.#takeWhole(count);
    else if (how === "take") expect(this.#kit.take({ maxBatchSize: count })).toEqual(this.#waiting.splice(0, count));
    else this.#add(how, count);
  }

  #takeWhole(count: number): void {
    const { queue } = this.#kit;
    const chunk = queue.whole(count);
    const entries = chunk?.entries ?? [];
    const items = entries.map(({ item }) => item);
    expect(chunk?.cost ?? 0).toBe(entries.reduce((sum, { cost }) => sum + cost, 0));
    const holder = otherHolder();
    queue.take(entries, holder);
    expect(entries.every(({ keeper, isWaiting }) => keeper === holder && !isWaiting)).toBe(true);
    expect(items).toEqual(this.#waiting.splice(0, items.length));
  }

  /** Those that can leave are those that were pushed alone. */
  #leave(count: number): void {
    const leaving = this.#waiting.filter((id) => this.#kit.entry(id) !== undefined).slice(0, count);
    this.#kit.leave(...leaving);
    for (const id of leaving) this.#waiting.splice(this.#waiting.indexOf(id), 1);
  }

  /** Opens another line, which is empty afterwards. */
  #raise(): void {
    const id = -1 - this.#next;
    this.#next += 1;
    this.#kit.push({ id }).raise(id, 1).leave(id);
  }

  #add(how: string, count: number): void {
    const ids = range(count).map((index) => this.#next + index);
    this.#next += count;
    this.#waiting.push(...ids);
    if (how === "push") this.#kit.push(...ids.map((id) => ({ id, cost: 1 + (id % 3) })));
    else if (how === "push plain") for (const id of ids) this.#kit.queue.push(plainOf(id));
    else this.#kit.queue.pushAll(ids.map((id) => plainOf(id)));
  }

  check(): void {
    const { queue } = this.#kit;
    expect(queue.size).toBe(this.#waiting.length);
    expect(queue.oldestLine?.oldest).not.toBeNull();
    expect(queue.oldest?.item).toBe(this.#waiting[0]);
    expect(queue.lineCount).toBe(Math.min(1, queue.size));
  }

  end(): void {
    expect(this.#kit.takeAll({ maxBatchSize: 7 }).flat()).toEqual(this.#waiting);
    expect([this.#kit.queue.mostUrgent, this.#kit.queue.oldestAt()]).toEqual([undefined, Number.POSITIVE_INFINITY]);
  }
}

describe("entries of one line", () => {
  test("leave in the order in which they came, whichever way they came in", () => {
    const way = fc.constantFrom("push", "push plain", "push all", "raise", "leave", "take whole", "take");
    fc.assert(
      fc.property(fc.array(fc.tuple(way, fc.integer({ min: 1, max: 40 })), { maxLength: 40 }), (steps) => {
        const pair = new Pair();
        for (const step of steps) {
          pair.step(step);
          pair.check();
        }
        pair.end();
      }),
      { numRuns: 200 },
    );
  });
});

describe("a whole chunk", () => {
  const ids = (chunk: { readonly entries: readonly Entry[] } | null) => chunk?.entries.map(({ item }) => item);

  test("is the next batch if it has as many entries as a batch, or all", () => {
    const kit = new Kit();
    kit.queue.chunkLength = 3;
    kit.push(...range(4).map((id) => ({ id })));
    expect(ids(kit.queue.whole(3))).toEqual([0, 1, 2]);
    expect(kit.queue.whole(2)).toBeNull();
    expect(kit.queue.whole(4)).toBeNull();
    kit.take({ maxBatchSize: 3 });
    expect(ids(kit.queue.whole(3))).toEqual([3]);
  });

  test("of the most urgent line goes while others wait, if it is full and no other entry precedes its last", () => {
    const kit = new Kit({ priorityAgingMs: 10 });
    kit.queue.chunkLength = 2;
    kit.push({ id: 0 }, { id: 1, priority: 1 });
    expect(kit.queue.whole(2)).toBeNull();
    kit.push({ id: 2, priority: 1, at: 9 });
    expect(ids(kit.queue.whole(2))).toEqual([1, 2]);
    kit.leave(2).push({ id: 3, priority: 1, at: 11 });
    expect(kit.queue.whole(2)).toBeNull();
    kit.leave(0);
    expect(ids(kit.queue.whole(2))).toEqual([1, 3]);

    const strict = new Kit({ priorityAgingMs: Infinity }).push({ id: 0 }, { id: 1, priority: 1, at: 9 });
    expect(ids(strict.queue.whole(1))).toEqual([1]);
  });

  test("has the entries that are packed one by one, whatever else waits", () => {
    const entry = fc.record({
      priority: fc.integer({ min: 0, max: 2 }),
      isSmall: fc.boolean(),
      key: fc.constantFrom(undefined, undefined, undefined, "a"),
      laterMs: fc.constantFrom(0, 0, 0, 1, 4),
    });
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 40 }),
        fc.constantFrom(0, 1, 5, Infinity),
        (entries, priorityAgingMs) => {
          const kit = new Kit({ priorityAgingMs });
          kit.queue.chunkLength = 3;
          let at = 0;
          for (const [id, { laterMs, ...of }] of entries.entries()) {
            at += laterMs;
            kit.push({ ...of, id, at });
          }
          while (kit.queue.size > 0) {
            const whole = ids(kit.queue.whole(3));
            const packed = kit.take({ maxBatchSize: 3 });
            expect([undefined, packed]).toContainEqual(whole);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("is none while entries of a key or before a flush wait", () => {
    const kit = new Kit().push({ id: 1 });
    kit.flush(undefined, [], () => {});
    expect(kit.queue.whole(9)).toBeNull();
    expect(new Kit().push({ id: 0, key: "a" }).queue.whole(9)).toBeNull();
    expect(new Kit({ isFair: true }).push({ id: 0 }).queue.whole(9)).toBeNull();
  });
});
