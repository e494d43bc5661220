// Table: when a lane closes a batch, and in which order lanes do.

import { describe, expect, test } from "vitest";
import { closesAt, mostUrgentFirst } from "../../../../src/dispatch/batches/seal/thresholds.ts";
import type { LaneRow } from "../../../../src/dispatch/contract/store/probe.ts";
import { SEALED_AT } from "../../support/rows.ts";

const NOW = SEALED_AT;
const MINUTE = 60_000;

describe("a lane closes", () => {
  const caps = { maxRequests: 10, maxBytes: 1_000, maxTokens: 500 };
  const lane = (changes: Partial<LaneRow>): LaneRow => ({
    lane: "/v1/embeddings  m",
    ready: 1,
    bytes: 10,
    tokens: 5,
    oldestAt: NOW - MINUTE,
    readySince: NOW - MINUTE,
    deadlineAt: null,
    deferredUntil: null,
    ...changes,
  });
  test.each([
    ["at its oldest request's age", {}, NOW + 4 * MINUTE],
    ["now at its count", { ready: 10 }, NOW],
    ["now at its bytes", { bytes: 1_000 }, NOW],
    ["now at its tokens", { tokens: 500 }, NOW],
    ["a minute before its first deadline", { deadlineAt: NOW + 3 * MINUTE }, NOW + 2 * MINUTE],
    ["now as a part of a split batch", { lane: "/v1/embeddings KEY.a m" }, NOW],
    ["at the age of a retry from when it could go", { oldestAt: NOW - 60 * MINUTE }, NOW + 4 * MINUTE],
    ["when its retries are due", { ready: 0, oldestAt: null, readySince: null, deferredUntil: NOW + 7 }, NOW + 7],
    ["never while nothing is in it", { ready: 0, oldestAt: null, readySince: null }, Number.POSITIVE_INFINITY],
  ])("%s", (_name, changes, at) => {
    expect(closesAt(lane(changes), caps, 5 * MINUTE, NOW)).toBe(at);
  });

  const flushed = { oldestAt: NOW - 2 * MINUTE, readySince: NOW - MINUTE / 2 };
  test.each([
    ["now, whatever is still to come", { readySince: NOW - MINUTE, deferredUntil: NOW + 7 }, NOW],
    ["now as the last of its retries", flushed, NOW],
    [
      "a minute after its first retry, while others are to come",
      { ...flushed, deferredUntil: NOW + MINUTE },
      NOW + MINUTE / 2,
    ],
    ["at its age when it came later", { oldestAt: NOW - MINUTE / 2, readySince: NOW - MINUTE / 2 }, NOW + 4.5 * MINUTE],
  ])("after a flush a minute ago %s", (_name, changes, at) => {
    expect(closesAt(lane(changes), caps, 5 * MINUTE, NOW, NOW - MINUTE)).toBe(at);
  });

  test("in the order in which lanes fall due: by age, or by a deadline before that", () => {
    const lanes = [
      lane({ lane: "later", readySince: null }),
      lane({ lane: "young", readySince: NOW - 2 }),
      lane({ lane: "old", readySince: NOW - 3 * MINUTE }),
      lane({ lane: "due", readySince: NOW - 1, deadlineAt: NOW + 2 * MINUTE }),
    ];
    const inOrder = (maxAgeMs: number) => mostUrgentFirst(lanes, maxAgeMs).map((row) => row.lane);
    expect(inOrder(5 * MINUTE)).toEqual(["due", "old", "young", "later"]);
    expect(inOrder(Number.POSITIVE_INFINITY)).toEqual(["due", "old", "young", "later"]);
  });
});
