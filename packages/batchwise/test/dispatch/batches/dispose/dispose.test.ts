// Table: how the members of a batch end that gets no results.

import { describe, expect, test } from "vitest";
import { disposalOf, inTime } from "../../../../src/dispatch/batches/dispose/dispose.ts";
import { batchRow, SEALED_AT } from "../../support/rows.ts";

const NOW = SEALED_AT;

describe("members of a batch without results", () => {
  const batch = batchRow({ requests: 5 });
  const error = { code: "c", message: "m" };
  const of = (disposal: Parameters<typeof disposalOf>[1], ord: number) => disposalOf(batch, disposal, NOW)(ord);
  test("go back to their lane, uncharged", () => {
    const back = { kind: "requeue", code: "c", charged: false, notBefore: 0, lane: batch.lane };
    expect(of({ kind: "requeue", code: "c" }, 3)).toEqual({ ord: 3, ...back });
  });
  test("go back in two groups, the larger one first", () => {
    const lanes = [0, 2, 3, 4].map((ord) => {
      const decision = of({ kind: "split", error, below: 3 }, ord);
      return decision.kind === "requeue" ? decision.lane : decision.kind;
    });
    const group = (half: string): string => `/v1/chat/completions ${batch.key}.${half} gpt-4o-mini`;
    expect(lanes).toEqual([group("a"), group("a"), group("b"), group("b")]);
  });
  test("fail where they are to blame, and only there", () => {
    const faults = { kind: "faults", lines: [{ line: 2, ...error }] } as const;
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

describe("a request that would wait past its deadline", () => {
  const waits = { kind: "requeue", ord: 0, code: "c", charged: false, notBefore: 1_000_000 } as const;
  const item = { ...waits, lane: "/v1/embeddings key.r m" };
  const urgent = { ...item, notBefore: 0, lane: "/v1/embeddings#1##urgent  m" };

  test.each([
    ["goes at once, as urgent", 1_050_000, urgent],
    ["waits where it has more time", 1_100_000, item],
    ["waits where it has no deadline", null, item],
  ])("%s", (_, deadlineAt, expected) => {
    expect(inTime(item, deadlineAt)).toEqual(expected);
  });
});
