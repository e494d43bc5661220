// Table: the decision for an unsuccessful or missing result line.

import { describe, expect, test } from "vitest";
import {
  absentLine,
  classifyFailure,
  type RetryRules,
} from "../../../../src/dispatch/batches/collect/classify-results.ts";
import type { ResultLine } from "../../../../src/dispatch/contract/account.ts";
import { SEALED_AT } from "../../support/rows.ts";

const NOW = SEALED_AT;

describe("a line that is no success", () => {
  const rules: RetryRules = { attempts: 3, backoffMs: 1_000, maxBackoffMs: 60_000, lane: "l" };
  const line = (statusCode: number | null, code?: string): ResultLine => ({
    customId: "c",
    response: statusCode === null ? null : { statusCode, body: { error: { code: "told", message: "Why." } } },
    error: code === undefined ? null : { code, message: "m" },
    usage: null,
  });
  const back = (code: string, wait: number) => ({ kind: "requeue", code, charged: true, notBefore: NOW + wait });
  const final = (status: string) => ({ kind: "final", status, charged: true });
  const unpaid = { kind: "requeue", charged: false, notBefore: NOW };
  const money: ResultLine = {
    ...line(429),
    response: { statusCode: 429, body: { error: { code: "insufficient_quota", message: "No money." } } },
  };
  test.each([
    ["of the provider's fault goes back", line(500), 0, false, back("told", 1_000)],
    ["waits longer the second time", line(500), 1, false, back("told", 2_000)],
    ["fails at its last try", line(500), 2, false, final("failed")],
    ["of a rate limit goes back", line(429), 0, false, back("told", 1_000)],
    ["of the request's own fault fails", line(400), 0, false, final("failed")],
    ["of an unknown model fails", line(404), 0, false, final("failed")],
    ["without any reason goes back", line(null), 0, false, back("missing_result", 1_000)],
    ["that says why it did not run goes back", line(null, "batch_expired"), 0, false, back("batch_expired", 1_000)],
    ["that expired every time ends as expired", line(null, "batch_expired"), 2, false, final("expired")],
    ["that says that there is no money goes back uncharged", line(429, "insufficient_quota"), 2, false, unpaid],
    ["that says so in its answer does too", money, 2, false, unpaid],
    ["with a code that will not change fails", line(null, "content_policy_violation"), 0, false, final("failed")],
    ["of a request that wants out goes back, to end there", line(400), 2, true, back("told", 4_000)],
  ])("%s", (_name, given, attempts, cancelRequested, expected) => {
    expect(classifyFailure({ ord: 4, attempts, generation: 0, cancelRequested }, given, rules, NOW)).toMatchObject(
      expected,
    );
  });

  test("keeps the provider's words", () => {
    const decision = classifyFailure(
      { ord: 0, attempts: 0, generation: 0, cancelRequested: false },
      line(400),
      rules,
      NOW,
    );
    const payload = decision.kind === "final" ? (JSON.parse(decision.payload) as object) : {};
    expect(payload).toMatchObject({ response: { statusCode: 400 }, error: { code: "told", message: "Why." } });
  });

  test("that never came is named after how the batch ended", () => {
    const codes = (["done", "expired", "cancelled"] as const).map((state) => absentLine(state).error?.code);
    expect(codes).toEqual(["missing_result", "batch_expired", "batch_cancelled"]);
  });
});
