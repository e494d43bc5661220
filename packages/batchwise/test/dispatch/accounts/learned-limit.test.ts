import { describe, expect, test } from "vitest";
import { isRefuted, learnedLimit } from "../../../src/dispatch/accounts/learned-limit.ts";

const NOW = 1_800_000_000_000;
const DAY = 24 * 3_600_000;
const ledger = (learnedTokens: number | null, learnedAt: number | null) => ({
  ...{ name: "a/m", tokens: 0, requests: 0, batches: 0, blockedUntil: 0, strikes: 0, note: null, outage: null },
  learnedTokens,
  learnedAt,
});

describe("the limit learned from a refusal", () => {
  test.each([
    [null, null, Infinity],
    [500, NOW, 500],
    [500, NOW - DAY + 1, 500],
    [500, NOW - DAY, Infinity],
  ])("%s tokens at %s holds as %s", (tokens, at, limit) => {
    expect(learnedLimit(ledger(tokens, at), NOW)).toBe(limit);
  });

  test.each([
    [500, NOW, 500, false],
    [500, NOW, 501, true],
    [500, NOW - DAY, 1, true],
    [null, null, 1_000, false],
  ])("%s tokens at %s, with a batch of %s taken: refuted %s", (tokens, at, taken, isOver) => {
    expect(isRefuted(ledger(tokens, at), taken, NOW)).toBe(isOver);
  });

  test("of a ledger that is not there is nothing", () => {
    expect(learnedLimit(null, NOW)).toBe(Infinity);
  });
});
