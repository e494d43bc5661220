// Table: the part of a shared limit that is kept for a waiting lane.

import { describe, expect, test } from "vitest";
import {
  keptFrom,
  limitsWithout,
  type NoRoom,
  roomFor,
  type WaitingLane,
} from "../../../../src/dispatch/batches/seal/shared-ledger.ts";
import type { LedgerLimits } from "../../../../src/dispatch/contract/store/ledger-rows.ts";

const room = (tokens: number): LedgerLimits => ({ tokens, requests: 1, batches: 1 });
const waits = (lane: string, since: number, kept: Readonly<Record<string, number>>): WaitingLane => ({
  lane,
  since,
  kept: new Map(Object.entries(kept).map(([ledger, tokens]) => [ledger, room(tokens)])),
});

describe("of a limit is kept", () => {
  const waiting = [waits("late", 7, { a: 10, b: 30 }), waits("early", 3, { a: 20 })];
  test.each([
    ["from a lane that does not wait, for the one that waits longest", "other", "a", 20],
    ["from one that waits less long", "late", "a", 20],
    ["nothing from the one that waits longest", "early", "a", 0],
    ["on another ledger, for the one that waits there", "early", "b", 30],
    ["nothing on a ledger that nobody waits for", "other", "c", 0],
  ])("%s", (_name, lane, ledger, tokens) => {
    expect(keptFrom(lane, ledger, waiting).tokens).toBe(tokens);
  });

  test.each([
    [Number.POSITIVE_INFINITY, 100, 80],
    [200, 100, 80],
    [200, Number.POSITIVE_INFINITY, 180],
    [200, 20, 0],
  ])("so that of %s reported and %s learned tokens others may book %s", (told, learned, left) => {
    const limits = { tokens: told, requests: 50, batches: Number.POSITIVE_INFINITY };
    const kept = keptFrom("other", "a", waiting);
    const without = { tokens: left, requests: 49, batches: Number.POSITIVE_INFINITY };
    expect(limitsWithout(kept, limits, learned)).toEqual(without);
    const whole = { ...limits, tokens: Math.min(told, learned) };
    expect(limitsWithout(keptFrom("early", "a", waiting), limits, learned)).toEqual(whole);
  });
});

describe("for a lane of 100 requests of 20 tokens that finds no room is kept", () => {
  const lane = { ready: 100, tokens: 2_000 };
  const no = (changes: Partial<NoRoom> = {}): NoRoom => ({
    ledger: "l",
    reason: "no_headroom",
    headTokens: 20,
    booked: 3,
    minRequests: 1,
    usual: { tokens: 500, requests: 60 },
    mostTokens: 1_000,
    tokenLimit: 1_000,
    ...changes,
  });
  test.each<[string, Partial<NoRoom>, LedgerLimits | null]>([
    ["a usual batch", {}, { tokens: 500, requests: 60, batches: 1 }],
    ["its first request, where that is larger", { headTokens: 800 }, { tokens: 800, requests: 60, batches: 1 }],
    ["no more than the limit", { headTokens: 2_000 }, { tokens: 1_000, requests: 60, batches: 1 }],
    ["the same where a limit is used up", { reason: "full", headTokens: 0 }, { tokens: 500, requests: 60, batches: 1 }],
    ["no tokens where these have no limit", { tokenLimit: Infinity }, { tokens: 0, requests: 60, batches: 1 }],
    [
      "the fewest that the provider takes",
      { reason: "too_few", minRequests: 40 },
      { tokens: 800, requests: 60, batches: 1 },
    ],
    [
      "no more requests than it has",
      { minRequests: 70, usual: { tokens: 500, requests: Infinity } },
      { tokens: 500, requests: 100, batches: 1 },
    ],
    ["nothing where it has too few", { reason: "too_few", minRequests: 200 }, null],
    ["nothing where nothing is booked: it lacks something else", { booked: 0 }, null],
    ["nothing where it is too large", { reason: "head_too_large" }, null],
    ["nothing where the account is paused", { reason: "blocked" }, null],
  ])("%s", (_name, changes, kept) => {
    expect(roomFor(lane, no(changes))).toEqual(kept);
  });

  test("no more tokens than it has", () => {
    expect(roomFor({ ready: 2, tokens: 40 }, no())).toEqual({ tokens: 40, requests: 2, batches: 1 });
  });
});
