import { describe, expect, test } from "vitest";
import { afterBreak } from "../../../../src/dispatch/batches/execute/after-break.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";

const MINUTE = 60_000;
const failure = (more: object): Failure => ({ kind: "unknown", code: "c", message: "m", ...more }) as Failure;

describe("a pass that an account broke off", () => {
  test.each<[string, Failure, number, number, boolean]>([
    ["begins again after a second", failure({}), 0, 1_000, false],
    ["waits twice as long each time", failure({}), 3, 8_000, false],
    ["waits five minutes at most", failure({}), 30, 5 * MINUTE, false],
    ["waits as long as the server asks", failure({ kind: "rateLimited", retryAfterMs: 90_000 }), 0, 90_000, true],
    ["without a figure waits like the others", failure({ kind: "rateLimited", retryAfterMs: null }), 1, 2_000, true],
    ["for a refused key pauses the account", failure({ kind: "authOrBilling" }), 0, 15 * MINUTE, true],
  ])("%s", (_case, told, breaks, waitMs, pausesAccount) => {
    expect(afterBreak(told, breaks)).toEqual({ waitMs, pausesAccount });
  });
});
