// Table: how the members of a batch end that gets no results.

import { describe, expect, test } from "vitest";
import type { Disposal } from "../../../src/dispatch/format/payload.ts";
import { disposalOf } from "../../../src/dispatch/steps/dispose.ts";
import { batchRow, SEALED_AT } from "../support/rows.ts";

const NOW = SEALED_AT;

describe("members of a batch without results", () => {
  const batch = batchRow({ requests: 5 });
  const error = { code: "c", message: "m" };
  const of = (disposal: Disposal, ord: number) => disposalOf(batch, disposal, NOW)(ord);
  test("go back to their lane, uncharged", () => {
    const back = { kind: "requeue", code: "c", charged: false, notBefore: 0, lane: batch.lane };
    expect(of({ kind: "requeue", code: "c" }, 3)).toEqual({ ord: 3, ...back });
  });
  test("go back in two groups, the larger one first", () => {
    const lanes = [0, 2, 3, 4].map((ord) => {
      const decision = of({ kind: "split", error }, ord);
      return decision.kind === "requeue" ? decision.lane : decision.kind;
    });
    const group = (half: string): string => `/v1/chat/completions ${batch.key}.${half} gpt-4o-mini`;
    expect(lanes).toEqual([group("a"), group("a"), group("b"), group("b")]);
  });
  test("fail where they are to blame, and only there", () => {
    const faults: Disposal = { kind: "faults", lines: [{ line: 2, ...error }] };
    expect(of(faults, 1)).toMatchObject({ kind: "final", status: "failed", charged: true });
    expect(of(faults, 2)).toMatchObject({ kind: "requeue", charged: false });
    expect(of({ kind: "refuse", error }, 0)).toMatchObject({ kind: "final", status: "failed" });
  });

  test("are decided without a search for each through all that are to blame", () => {
    let reads = 0;
    const lines = Array.from({ length: 1_000 }, (_, index) => ({
      ...error,
      get line() {
        reads += 1;
        return index * 2 + 1;
      },
    }));
    const decide = disposalOf(batchRow({ requests: 2_000 }), { kind: "faults", lines }, NOW);
    const decisions = Array.from({ length: 2_000 }, (_, ord) => decide(ord).kind);
    expect(decisions.filter((kind) => kind === "final").length).toBe(1_000);
    expect(reads).toBeLessThanOrEqual(2_000);
  });
});
