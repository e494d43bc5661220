// Table: which results count as whole, and when members without a line count as missing.

import { describe, expect, test } from "vitest";
import { afterReading, linesDue, type ShortReads } from "../../../../src/dispatch/batches/collect/unread-results.ts";

const MINUTE = 60_000;
const NOW = 1_000_000_000;
const reads = (changes: Partial<ShortReads>): ShortReads => ({
  ...{ lines: 7, agreed: 4, since: NOW - 61 * MINUTE, tries: 4 },
  ...changes,
});
const short = { counted: 10, due: 10, lines: 7, remaining: 3 };

describe("a pass over the results", () => {
  test.each([
    ["is whole when every member has its decision", { ...short, remaining: 0 }, null, { kind: "whole" }],
    ["is whole where nothing tells how many there must be", { ...short, due: null }, null, { kind: "whole" }],
    ["is whole with as many lines as are due", { ...short, lines: 10 }, null, { kind: "whole" }],
    ["is unread with fewer", short, null, { kind: "unread", reads: { lines: 7, agreed: 1, since: NOW, tries: 1 } }],
    ["is unread when nothing came", { ...short, lines: 0 }, null, { kind: "unread", waitMs: 5_000 }],
    ["agrees with four others over an hour", short, reads({}), { kind: "agreed" }],
    ["needs four others", short, reads({ agreed: 3 }), { kind: "unread", reads: { agreed: 4 } }],
    ["needs an hour", short, reads({ since: NOW - 59 * MINUTE }), { kind: "unread", reads: { agreed: 5 } }],
    [
      "that brings more lines begins anew",
      { ...short, lines: 8 },
      reads({}),
      { kind: "unread", waitMs: 5_000, reads: { lines: 8, agreed: 1, since: NOW, tries: 1 } },
    ],
    [
      "that brings fewer agrees with nothing",
      { ...short, lines: 6 },
      reads({}),
      { kind: "unread", reads: { lines: 7, agreed: 4, since: NOW - 61 * MINUTE, tries: 5 } },
    ],
    ["is for a person when reads keep differing", { ...short, lines: 6 }, reads({ tries: 19 }), { isStuck: true }],
  ] as const)("%s", (_name, read, before, expected) => {
    expect(afterReading(read, before, NOW)).toMatchObject(expected);
  });

  test("is repeated soon at first, then ever later, and settled after little more than an hour", () => {
    let before: ShortReads | null = null;
    const seconds: number[] = [];
    for (let now = NOW; ; ) {
      seconds.push((now - NOW) / 1_000);
      const reading = afterReading(short, before, now);
      if (reading.kind !== "unread") break;
      before = reading.reads;
      now += reading.waitMs;
    }
    expect(seconds).toEqual([0, 5, 25, 105, 425, 1_705, 4_105]);
  });
});

describe("lines that are due", () => {
  const open = { requests: 10, remaining: 10, cancelRequested: 0 };
  const done = { state: "done", total: 10 } as const;
  const expired = { state: "expired", total: 10 } as const;
  const mute = { state: "expired", total: null } as const;
  test.each([
    ["are those that the provider counts, once there are any", done, 8, 1, open, 8],
    ["are unknown where some are there and nothing is counted", { ...done, total: null }, null, 1, open, null],
    ["are one for each open member of a done batch without a line", done, null, 0, open, 10],
    ["are that too where the provider counts none", done, 0, 0, open, 10],
    ["are all that the provider counts, where members have left before", done, 10, 0, { ...open, remaining: 4 }, 10],
    [
      "are one for each request where a done batch counts fewer than it was sent",
      { ...done, total: 5 },
      5,
      5,
      open,
      10,
    ],
    ["are the counted ones where an expired batch counts fewer", { ...expired, total: 5 }, 5, 5, open, 5],
    ["are none where the provider counts that an expired batch has run none", expired, 0, 0, open, 0],
    ["are one for each member of an expired batch without counts", mute, 0, 0, open, 10],
    ["are unknown where all members are cancelled anyway", mute, null, 0, { ...open, cancelRequested: 10 }, null],
    ["are one for each other member where some are cancelled", mute, null, 0, { ...open, cancelRequested: 9 }, 10],
  ] as const)("%s", (_name, seen, counted, found, batch, expected) => {
    expect(linesDue(seen, counted, found, batch)).toBe(expected);
  });
});
