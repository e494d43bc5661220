// The submission protocol against 420 ways to lose an answer, with the real reconciler in virtual
// time. The provider counts the runs: one each at the default grace, for every kind of tag.

import { describe, expect, test } from "vitest";
import { type ProtocolResult, protocolCases, runProtocolCase } from "./support/protocol-case.ts";

const DEFAULT_GRACE_MS = 300_000;
const cases = protocolCases();

async function results(graceMs: number, kind: Parameters<typeof runProtocolCase>[2]): Promise<ProtocolResult[]> {
  const all: ProtocolResult[] = [];
  for (const one of cases) all.push(await runProtocolCase(one, graceMs, kind));
  return all;
}

test("there are 420 cases", () => {
  expect(cases).toHaveLength(420);
});

describe.each([
  { tag: "metadata", maxInlineBytes: 0 },
  { tag: "inputFile", maxInlineBytes: 0 },
  { tag: "none", maxInlineBytes: Infinity },
  { tag: "idempotencyToken", maxInlineBytes: Infinity },
] as const)("a provider of tag $tag", (kind) => {
  test("runs each request once, and each has its outcome, at the default grace", async () => {
    const once = { runs: 1, accepted: 1, outcomes: 1 };
    expect(await results(DEFAULT_GRACE_MS, kind)).toEqual(cases.map(() => once));
  });
});

test("a shorter grace has more accepted twice, and the sweeper stops most of these before they run", async () => {
  const counts: number[] = [];
  for (const graceMs of [0, 30_000, 120_000, DEFAULT_GRACE_MS]) {
    const all = await results(graceMs, { tag: "metadata", maxInlineBytes: 0 });
    expect(all.every(({ outcomes }) => outcomes === 1)).toBe(true);
    counts.push(all.filter(({ accepted }) => accepted > 1).length);
  }
  expect(counts).toEqual([154, 126, 50, 0]);
});
