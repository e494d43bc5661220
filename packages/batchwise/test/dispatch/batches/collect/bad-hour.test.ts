// Table: whether the provider caused the failures of a batch, so that they charge no try.

import { describe, expect, test } from "vitest";
import { causeOf, isBadHour, type LineTally } from "../../../../src/dispatch/batches/collect/bad-hour.ts";
import type { ResultLine } from "../../../../src/dispatch/contract/account.ts";

const tally = (changes: Partial<LineTally>): LineTally => ({
  ...{ succeeded: 0, overload: 0, fault: 0, faultAgain: 0, other: 0 },
  ...changes,
});

describe("failures of a batch", () => {
  test.each([
    ["that had none are nobody's", { succeeded: 5 }, 0, false],
    ["of which every line says 429 or 529 are the provider's", { overload: 100 }, 0, true],
    ["of a single request that met 529 are the provider's", { overload: 1 }, 0, true],
    ["of which every line is a 5xx are the provider's", { fault: 100 }, 0, true],
    ["of which nearly every line is, too", { fault: 60, overload: 30, other: 10 }, 0, true],
    ["with more answers than that are the requests'", { fault: 89, succeeded: 11 }, 0, false],
    ["with other errors than that are the requests'", { overload: 89, other: 11 }, 0, false],
    ["of one request that met a 5xx may be its own", { fault: 1 }, 0, false],
    ["of two may be, too", { fault: 2 }, 0, false],
    ["of three at their first try are the provider's", { fault: 3 }, 0, true],
    ["of requests that failed before may be their own", { faultAgain: 50 }, 0, false],
    ["of these together with new ones are the provider's", { faultAgain: 50, fault: 3 }, 0, true],
    ["of these during a pause are the provider's", { faultAgain: 1 }, 1, true],
    ["after a pause, with answers among them, are the requests'", { faultAgain: 8, succeeded: 2 }, 1, false],
    ["are the provider's for a day and a half", { overload: 100 }, 35, true],
    ["are charged then", { overload: 100 }, 36, false],
  ] as const)("%s", (_name, lines, pauses, expected) => {
    expect(isBadHour(tally(lines), pauses)).toBe(expected);
  });
});

describe("a line", () => {
  const line = (statusCode: number | null, code: string | null): ResultLine => ({
    customId: "c",
    response: statusCode === null ? null : { statusCode, body: {} },
    error: code === null ? null : { code, message: "" },
    usage: null,
  });
  test.each([
    [429, "rate_limit_exceeded", "overload"],
    [529, "overloaded_error", "overload"],
    [500, "server_error", "fault"],
    [503, null, "fault"],
    [504, "timeout_error", "fault"],
    [400, "rate_limit_exceeded", "other"],
    [404, "model_not_found", "other"],
    [null, "overloaded_error", "overload"],
    [null, "server_error", "fault"],
    [null, "batch_expired", "notRun"],
    [null, null, "other"],
  ] as const)("with status %s and code %s is an %s", (status, code, expected) => {
    expect(causeOf(line(status, code))).toBe(expected);
  });
});
