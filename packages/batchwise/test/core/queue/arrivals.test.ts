// Plain entries that arrive together are counted by their line when an order is needed.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { range } from "../../support.ts";
import { entryOf, Kit, otherHolder } from "../support/queue-kit.ts";

/** Adds an arrival; first gives room if there is none, as a submit does. */
function arrive({ queue }: Kit, id: number, most = Infinity): void {
  const entry = entryOf({ id });
  if (queue.arrive(entry)) return;
  queue.makeRoom(most, 3);
  expect(queue.arrive(entry)).toBe(true);
}

type Step = readonly [how: string, count: number];

/** A queue, and what waits in it by the order of arrival. */
class Pair {
  readonly #kit: Kit = new Kit();
  readonly #waiting: number[] = [];
  #next = 0;

  step([how, count]: Step): void {
    const { queue } = this.#kit;
    if (how === "look") expect(queue.size).toBe(this.#waiting.length);
    else if (how === "leave") this.#leave(count);
    else if (how === "take as they came") this.#takeAsTheyCame(count);
    else if (how === "take") expect(this.#kit.take({ maxBatchSize: count })).toEqual(this.#waiting.splice(0, count));
    else this.#add(how, count);
  }

  /** Without a look at their order, as a batch that needs none takes them. */
  #takeAsTheyCame(count: number): void {
    const { queue } = this.#kit;
    const entries = [...(queue.arrivals(count) ?? [])];
    queue.take(queue.arrivals(count) ?? [], otherHolder());
    expect(entries.map(({ item }) => item)).toEqual(this.#waiting.splice(0, entries.length));
  }

  /** Those that can leave are those that were pushed. */
  #leave(count: number): void {
    const leaving = this.#waiting.filter((id) => this.#kit.entry(id) !== undefined).slice(0, count);
    this.#kit.leave(...leaving);
    for (const id of leaving) this.#waiting.splice(this.#waiting.indexOf(id), 1);
  }

  #add(how: string, count: number): void {
    const ids = range(count).map((index) => this.#next + index);
    this.#next += count;
    this.#waiting.push(...ids);
    if (how === "push") this.#kit.push(...ids.map((id) => ({ id })));
    else if (how === "arrive") for (const id of ids) arrive(this.#kit, id);
    else this.#arriveAll(ids);
  }

  #arriveAll(ids: readonly number[]): void {
    this.#kit.queue.makeRoom(ids.length, 3);
    this.#kit.queue.arriveAll(ids.map((id) => entryOf({ id })));
  }

  /** A line without entries has no place among the others. */
  check(): void {
    expect(this.#kit.queue.byAge.first?.value.oldest).not.toBeNull();
  }

  end(): void {
    expect(this.#kit.queue.size).toBe(this.#waiting.length);
    expect(this.#kit.takeAll({ maxBatchSize: 7 }).flat()).toEqual(this.#waiting);
    expect([this.#kit.queue.mostUrgent, this.#kit.queue.oldestAt()]).toEqual([undefined, Number.POSITIVE_INFINITY]);
  }
}

/** After these, a line without entries once kept its place. */
const EXPOSED: Step[] = [
  ["push", 1],
  ["arrive", 1],
  ["leave", 1],
  ["take as they came", 1],
];

describe("plain entries", () => {
  test("wait in the order in which they came, whichever way they came in", () => {
    const way = fc.constantFrom("arrive", "push", "arriveAll", "look", "leave", "take as they came", "take");
    fc.assert(
      fc.property(fc.array(fc.tuple(way, fc.integer({ min: 1, max: 40 })), { maxLength: 40 }), (steps) => {
        const pair = new Pair();
        for (const step of steps) {
          pair.step(step);
          pair.check();
        }
        pair.end();
      }),
      { numRuns: 200, examples: [[EXPOSED]] },
    );
  });

  test("find no more room than was given, and none after a look at their order", () => {
    const { queue } = new Kit();
    expect(queue.arrive(entryOf({ id: 0 }))).toBe(false);
    queue.makeRoom(2, 3);
    expect(range(3).map((id) => queue.arrive(entryOf({ id })))).toEqual([true, true, false]);
    queue.makeRoom(9, 3);
    expect(queue.size).toBe(2);
    expect(queue.oldest?.item).toBe(0);
    expect(queue.arrive(entryOf({ id: 3 }))).toBe(false);
  });

  test("are younger than the entries in lines", () => {
    const kit = new Kit().push({ id: 1, at: 5 });
    kit.queue.makeRoom(9, 3);
    expect(kit.queue.arrive(entryOf({ id: 2, at: 6 }))).toBe(true);
    expect([kit.queue.oldestAt(), kit.queue.size]).toEqual([5, 2]);
    expect(kit.take({ maxBatchSize: 1 })).toEqual([1]);
    kit.queue.makeRoom(9, 3);
    expect(kit.queue.arrive(entryOf({ id: 3, at: 7 }))).toBe(true);
    expect(kit.queue.oldestAt()).toBe(6);
  });

  test("are not lost where ranks without entries are dropped before the next look", () => {
    const kit = new Kit().push({ id: 1, priority: 1 });
    arrive(kit, 2);
    for (const priority of range(100)) kit.raise(1, priority + 2);
    expect(kit.take()).toEqual([1, 2]);
  });
});
