// Table: the provider batch of a listing that is adopted for a create with a lost answer.

import { describe, expect, test } from "vitest";
import { decideAdoption } from "../../../../src/dispatch/batches/find/adoption.ts";
import type { ProviderBatch } from "../../../../src/dispatch/contract/account.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { batchRow, providerBatch, SEALED_AT } from "../../support/rows.ts";

const NOW = SEALED_AT;
const MINUTE = 60_000;

const lost = batchRow({ state: "unknown", submitStartedAt: NOW, providerFileId: "file-1" });
const ours = { tag: { key: lost.key, attempt: 1 } };

describe("of the batches in a listing", () => {
  const look = (listed: ProviderBatch[], known: string[] = [], isLast = false) => ({
    listed,
    known: new Set(known),
    since: NOW - MINUTE,
    isLast,
  });
  const orphaned = (id: string): BatchRow => ({
    ...lost,
    orphans: [{ providerBatchId: id, seenAt: 0, action: "ended" }],
  });
  test.each([
    ["the one with our key is adopted", lost, "metadata", look([providerBatch("x"), providerBatch("a", ours)]), "a"],
    ["the one of our file is adopted", lost, "inputFile", look([providerBatch("a", { inputFileId: "file-1" })]), "a"],
    [
      "of two with our key the older is kept",
      lost,
      "metadata",
      look([providerBatch("b", ours), providerBatch("a", { ...ours, createdAt: NOW - 1 })]),
      "a",
    ],
    [
      "of two the one that did not fail is kept",
      lost,
      "metadata",
      look([providerBatch("a", { ...ours, state: "failed", createdAt: 1 }), providerBatch("b", ours)]),
      "b",
    ],
    [
      "one of an earlier attempt that failed does not stand for the last attempt",
      { ...lost, submitAttempt: 2 },
      "metadata",
      look([providerBatch("a", { ...ours, state: "failed" })]),
      "absent",
    ],
    [
      "one of an earlier attempt that failed, and has answers, is adopted",
      { ...lost, submitAttempt: 2 },
      "metadata",
      look([providerBatch("a", { ...ours, state: "failed", ran: 900, resultRefs: ["file"] })]),
      "a",
    ],
    ...(["cancelled", "expired"] as const).flatMap((state) => [
      [
        `one of an earlier attempt that is ${state} with nothing run does not stand for the last attempt`,
        { ...lost, submitAttempt: 2 },
        "metadata",
        look([providerBatch("a", { ...ours, state })]),
        "absent",
      ] as const,
      [
        `one of an earlier attempt that is ${state} with answers is adopted`,
        { ...lost, submitAttempt: 2 },
        "metadata",
        look([providerBatch("a", { ...ours, state, resultRefs: ["file"] })]),
        "a",
      ] as const,
    ]),
    [
      "one of our file that failed before the last attempt began does not stand for it",
      { ...lost, submitAttempt: 2 },
      "inputFile",
      look([providerBatch("a", { inputFileId: "file-1", state: "failed", createdAt: NOW - 3 * MINUTE })]),
      "absent",
    ],
    ...([NOW - MINUTE, NOW + 1, 0] as const).flatMap((createdAt) => [
      [
        `one of our file that failed, made at ${createdAt}, does not stand for an attempt that may run`,
        { ...lost, submitAttempt: 2 },
        "inputFile",
        look([providerBatch("a", { inputFileId: "file-1", state: "failed", createdAt })]),
        "absent",
      ] as const,
      [
        `one of our file that failed, made at ${createdAt}, is adopted once no attempt may run`,
        { ...lost, submitAttempt: 2 },
        "inputFile",
        look([providerBatch("a", { inputFileId: "file-1", state: "failed", createdAt })], [], true),
        "a",
      ] as const,
    ]),
    [
      "one of our file that failed is adopted if there was one attempt",
      lost,
      "inputFile",
      look([providerBatch("a", { inputFileId: "file-1", state: "failed" })]),
      "a",
    ],
    [
      "of two that failed the one of the last attempt is kept",
      { ...lost, submitAttempt: 2 },
      "metadata",
      look([
        providerBatch("a", { ...ours, state: "failed", createdAt: 1 }),
        providerBatch("b", { tag: { ...ours.tag, attempt: 2 }, state: "failed" }),
      ]),
      "b",
    ],
    [
      "an earlier attempt that ended is not taken again",
      orphaned("a"),
      "metadata",
      look([providerBatch("a", ours)]),
      "absent",
    ],
    [
      "nothing of ours is nothing",
      lost,
      "metadata",
      look([providerBatch("x", { tag: { key: "other", attempt: 1 } })]),
      "absent",
    ],
    [
      "the one of our size that does not say when it was made is guessed",
      lost,
      "none",
      look([providerBatch("a", { createdAt: 0 })]),
      "a",
    ],
    [
      "the one unknown of our size is guessed",
      lost,
      "none",
      look([providerBatch("a"), providerBatch("x", { total: 9 })]),
      "a",
    ],
    ["a known one is no guess", lost, "none", look([providerBatch("a")], ["a"]), "absent"],
    [
      "one from before is no guess",
      lost,
      "none",
      look([providerBatch("a", { createdAt: NOW - 2 * MINUTE })]),
      "absent",
    ],
    [
      "of two nothing is guessed while there is time",
      lost,
      "none",
      look([providerBatch("a"), providerBatch("b")]),
      "undecided",
    ],
    [
      "of two the nearest is guessed at last",
      lost,
      "none",
      look([providerBatch("a", { createdAt: NOW + 9 }), providerBatch("b")], [], true),
      "b",
    ],
    [
      "one whose size is not told yet is waited for",
      lost,
      "none",
      look([providerBatch("a", { total: null })], [], true),
      "undecided",
    ],
    ["one that was given back is no guess again", orphaned("a"), "none", look([providerBatch("a")]), "absent"],
  ] as const)("%s", (_name, batch, tag, given, expected) => {
    const decision = decideAdoption(batch, tag, given);
    expect(decision.kind === "adopt" ? decision.batch.id : decision.kind).toBe(expected);
  });

  test("a guess says that it is one, and the others of our key are named", () => {
    expect(decideAdoption(lost, "none", look([providerBatch("a")]))).toMatchObject({ verified: false, extras: [] });
    const both = look([providerBatch("a", ours), providerBatch("b", { ...ours, createdAt: NOW + 1 })]);
    expect(decideAdoption(lost, "metadata", both)).toMatchObject({ verified: true, extras: [{ id: "b" }] });
  });
});
