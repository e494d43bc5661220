// The submission protocol against 420 ways to lose an answer, with the real reconciler in virtual
// time. The provider counts the runs: one each at the default grace, for every kind of tag.

import { describe, expect, test } from "vitest";
import { runsAllCases } from "../../support/breadth.ts";
import { type ProtocolCase, type ProtocolResult, protocolCases, runProtocolCase } from "../../support/protocol-case.ts";

const DEFAULT_GRACE_MS = 300_000;
/** Coprime to the 28 pairs of a delay and a lag: all pairs occur, and all crashes and drops. */
const SPREAD = 5;
const cases = protocolCases();
const spread = cases.filter((_, at) => at % SPREAD === 0);

async function results(
  these: readonly ProtocolCase[],
  graceMs: number,
  kind: Parameters<typeof runProtocolCase>[2],
): Promise<ProtocolResult[]> {
  const all: ProtocolResult[] = [];
  for (const one of these) all.push(await runProtocolCase(one, graceMs, kind));
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
    // The steps differ between tags, their waits do not: one tag meets all cases in `npm test`.
    const these = kind.tag === "metadata" || runsAllCases ? cases : spread;
    const once = { runs: 1, accepted: 1, outcomes: 1 };
    expect(await results(these, DEFAULT_GRACE_MS, kind)).toEqual(these.map(() => once));
  }, 300_000);
});

test.each(
  runsAllCases
    ? [
        { graceMs: 30_000, twice: 126 },
        { graceMs: 120_000, twice: 50 },
        { graceMs: 0, twice: 154 },
      ]
    : [{ graceMs: 30_000, twice: 24 }],
)(
  "a grace of $graceMs ms lets the provider accept $twice cases twice, and each request has one outcome",
  async ({ graceMs, twice }) => {
    const these = runsAllCases ? cases : spread;
    const all = await results(these, graceMs, { tag: "metadata", maxInlineBytes: 0 });
    expect(all.every(({ outcomes }) => outcomes === 1)).toBe(true);
    expect(all.filter(({ accepted }) => accepted > 1)).toHaveLength(twice);
  },
);
