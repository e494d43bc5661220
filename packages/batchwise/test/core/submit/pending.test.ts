import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { Pending } from "../../../src/core/submit/pending.ts";
import { entryOf } from "../support/queue-kit.ts";

function entries(): [Entry, Entry, Entry] {
  return [entryOf({ id: 1 }), entryOf({ id: 2 }), entryOf({ id: 3 })];
}

describe("pending entries", () => {
  test("end once", () => {
    const pending = new Pending();
    const [entry] = entries();
    pending.start(entry, null);
    expect([pending.size, pending.end(entry, null), pending.end(entry, null), pending.size]).toEqual([
      1,
      true,
      false,
      0,
    ]);
  });

  test("are skipped by their own function, which ends them; an entry without one stays", () => {
    const pending = new Pending();
    const [a, b, c] = entries();
    const skipped: unknown[] = [];
    for (const entry of [a, b]) {
      const skip = (): void => {
        skipped.push(entry.item);
        pending.end(entry, skip);
      };
      pending.start(entry, skip);
    }
    pending.start(c, null);
    pending.skip(b);
    expect(skipped).toEqual([2]);
    pending.skipAll();
    pending.skipAll();
    expect([skipped, pending.size]).toEqual([[2, 1], 1]);
    pending.skip(a);
    expect(skipped).toEqual([2, 1]);
  });

  test("that begin while others are skipped are not skipped with them", () => {
    const pending = new Pending();
    const [a, b] = entries();
    let isSkipped = false;
    const skip = (): void => {
      pending.end(a, skip);
      pending.start(b, () => {
        isSkipped = true;
      });
    };
    pending.start(a, skip);
    pending.skipAll();
    expect([pending.size, isSkipped]).toEqual([1, false]);
  });

  test("do not end by a step that was before", () => {
    const pending = new Pending();
    const [entry] = entries();
    const lookUp = (): void => {};
    pending.start(entry, lookUp);
    expect(pending.end(entry, lookUp)).toBe(true);
    pending.start(entry, null);
    expect([pending.end(entry, lookUp), pending.has(entry)]).toEqual([false, true]);
  });

  test("are taken out all together", () => {
    const pending = new Pending();
    const [a, b] = entries();
    for (const entry of [a, b]) pending.start(entry, null);
    expect(pending.clear()).toEqual([a, b]);
    expect([pending.size, pending.end(a, null)]).toEqual([0, false]);
  });
});
