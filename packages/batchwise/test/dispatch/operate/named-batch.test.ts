// Whether a batch may be tied to the provider batch that an operator names.

import { describe, expect, test } from "vitest";
import { TRANSITIONS } from "../../../src/dispatch/batches/life-cycle.ts";
import type { ProviderBatch } from "../../../src/dispatch/contract/account.ts";
import type { BatchRow } from "../../../src/dispatch/contract/store/rows.ts";
import type { TagKind } from "../../../src/dispatch/contract/tag-kind.ts";
import type { BatchState } from "../../../src/dispatch/contract/types.ts";
import { judgeNamed, whyNotAdopting } from "../../../src/dispatch/operate/named-batch.ts";
import { batchRow } from "../support/rows.ts";

const KEY = batchRow().key;
const seenAs = (more: Partial<ProviderBatch>): ProviderBatch => ({
  ...{ id: "batch_1", state: "running", rawState: "in_progress", createdAt: 0, expiresAt: null, tag: null },
  ...{ inputFileId: null, total: 4, settled: null, resultRefs: [], failure: null },
  ...more,
});

interface Case {
  readonly name: string;
  readonly tag?: TagKind;
  readonly batch?: Partial<BatchRow>;
  readonly seen?: Partial<ProviderBatch>;
  readonly others?: readonly Partial<BatchRow>[];
  readonly is: "verified" | "unverified" | RegExp;
}

const ours = { key: KEY, attempt: 1 };
const orphan = (action: "foreign" | "cancelled") => [{ providerBatchId: "batch_1", seenAt: 0, action }];

const cases: readonly Case[] = [
  { name: "carries our tag", seen: { tag: ours }, is: "verified" },
  { name: "was made from our file", batch: { providerFileId: "f" }, seen: { inputFileId: "f" }, is: "verified" },
  { name: "carries our tag and tells no count yet", seen: { tag: ours, total: null }, is: "verified" },
  {
    name: "carries our tag, with members that have expired since",
    batch: { remaining: 3 },
    seen: { tag: ours },
    is: "verified",
  },
  { name: "carries another tag", seen: { tag: { key: "OTHER", attempt: 1 } }, is: /it carries the tag of OTHER/ },
  { name: "carries no tag where all do", is: /does not carry the batch's tag/ },
  { name: "carries no tag where none do", tag: "none", is: "unverified" },
  { name: "is of another file, after several uploads", tag: "inputFile", seen: { inputFileId: "g" }, is: "unverified" },
  {
    ...{ name: "is of another file, while the create is unresolved", tag: "inputFile", batch: { state: "unknown" } },
    ...{ seen: { inputFileId: "g" }, is: /was not made from the batch's file/ },
  },
  { name: "tells no count and carries nothing", tag: "none", seen: { total: null }, is: /does not tell yet/ },
  { name: "has more lines", tag: "none", seen: { total: 5 }, is: /has 5 lines, and the batch has 4 requests$/ },
  {
    ...{ name: "has fewer lines than are open", tag: "none", batch: { remaining: 3 }, seen: { total: 2 } },
    is: /has 2 lines, and the batch has 4 requests, 3 of which are open/,
  },
  {
    name: "is another's record",
    tag: "none",
    others: [{ key: "B", providerBatchId: "batch_1" }],
    is: /belongs to batch B/,
  },
  {
    name: "was another's",
    tag: "none",
    others: [{ key: "B", orphans: orphan("cancelled") }],
    is: /belongs to batch B/,
  },
  {
    name: "was mistaken for another's",
    tag: "none",
    others: [{ key: "B", orphans: orphan("foreign") }],
    is: "unverified",
  },
  {
    name: "is its own record already",
    tag: "none",
    others: [{ key: KEY, providerBatchId: "batch_1" }],
    is: "unverified",
  },
  { name: "was sent as this one", tag: "none", batch: { providerBatchId: "batch_1" }, is: "verified" },
  {
    ...{ name: "was taken for this one by its size", tag: "none", is: "unverified" },
    batch: { providerBatchId: "batch_1", verified: false },
  },
  {
    ...{ name: "has failed and carries nothing", tag: "none", seen: { state: "failed" } },
    is: /has ended without results, which would show whose it is/,
  },
  { name: "has failed and carries our tag", seen: { tag: ours, state: "failed" }, is: "verified" },
  {
    ...{ name: "has failed and is an earlier attempt", batch: { submitAttempt: 3 } },
    ...{
      seen: { tag: ours, state: "failed" },
      is: /it may be older than attempt 3, which may run, and has no results$/,
    },
  },
  {
    ...{ name: "was made from our file, failed, and is older than the last attempt", tag: "inputFile" },
    ...{ batch: { providerFileId: "f", submitAttempt: 2, submitStartedAt: 1_000_000 } },
    ...{
      seen: { inputFileId: "f", state: "failed", createdAt: 1 },
      is: /it may be older than attempt 2, which may run/,
    },
  },
  {
    ...{ name: "was made from our file, failed, and may be of an attempt before one that is looked for" },
    ...{ tag: "inputFile", batch: { state: "unknown", providerFileId: "f", submitAttempt: 2, submitStartedAt: 1 } },
    ...{
      seen: { inputFileId: "f", state: "failed", createdAt: 1 },
      is: /it may be older than attempt 2, which may run/,
    },
  },
  {
    ...{ name: "was made from our file, failed, and is of the only attempt", tag: "inputFile" },
    ...{
      batch: { state: "unknown", providerFileId: "f" },
      seen: { inputFileId: "f", state: "failed" },
      is: "verified",
    },
  },
  {
    ...{ name: "has failed and is an earlier attempt with answers", batch: { submitAttempt: 3 } },
    ...{ seen: { tag: ours, state: "failed", ran: 2, resultRefs: ["file"] }, is: "verified" },
  },
  {
    ...{ name: "has failed and is an earlier attempt of record", seen: { tag: ours, state: "failed" } },
    ...{ batch: { submitAttempt: 3, providerBatchId: "batch_1" }, is: "verified" },
  },
  { name: "is an earlier attempt that runs", batch: { submitAttempt: 3 }, seen: { tag: ours }, is: "verified" },
  {
    ...{ name: "was cancelled and counts what ran", tag: "none", seen: { state: "cancelled", ran: 2 } },
    is: "unverified",
  },
];

test.each(cases)("a batch that $name", ({ tag = "metadata", batch = {}, seen = {}, others = [], is }) => {
  const own = batchRow({ state: "quarantined", requests: 4, remaining: 4, ...batch });
  const judged = judgeNamed(
    own,
    tag,
    seenAs(seen),
    others.map((other) => batchRow(other)),
  );
  if (is instanceof RegExp) expect(judged).toEqual({ kind: "refused", because: expect.stringMatching(is) });
  else expect(judged).toEqual({ kind: "fits", verified: is === "verified" });
});

describe("adopting", () => {
  test("is for batches that are quarantined or unknown", () => {
    const states = Object.keys(TRANSITIONS) as BatchState[];
    const open = states.filter((state) => whyNotAdopting({ state }) === null);
    expect(open).toEqual(["unknown", "quarantined"]);
    expect(open.every((state) => TRANSITIONS[state].includes("submitted"))).toBe(true);
  });
});
