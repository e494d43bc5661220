// Table: which provider batches the sweeper cancels, and which files it deletes.

import { describe, expect, test } from "vitest";
import { isDuplicate, isNeeded } from "../../../../src/dispatch/batches/sweep/sweep.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { batchRow, providerBatch } from "../../support/rows.ts";

const ours = { tag: { key: batchRow({}).key, attempt: 1 } };

describe("the sweeper", () => {
  const running = batchRow({ state: "running", providerBatchId: "a", submitAttempt: 2, providerFileId: "file-2" });
  test.each([
    ["leaves the one of record", running, providerBatch("a", ours), false],
    ["stops another with its key", running, providerBatch("b", ours), true],
    [
      "leaves what was noted before",
      { ...running, orphans: [{ providerBatchId: "b", seenAt: 0, action: "ended" }] },
      providerBatch("b", ours),
      false,
    ],
    [
      "leaves what somebody is looking for",
      { ...running, state: "unknown", providerBatchId: null },
      providerBatch("b", ours),
      false,
    ],
    [
      "stops one of a batch that is to be sent anew",
      { ...running, state: "sealed", providerBatchId: null },
      providerBatch("b", ours),
      true,
    ],
    ["leaves strangers", running, providerBatch("b"), false],
  ] as const)("%s", (_name, batch, provider, expected) => {
    expect(isDuplicate(batch as BatchRow, provider)).toBe(expected);
  });

  test.each([
    ["the file of record", running, { fileId: "file-2", attempt: 1 }, true],
    ["an upload that may be under way", running, { fileId: "file-3", attempt: 2 }, true],
    ["one of an earlier attempt", running, { fileId: "file-1", attempt: 1 }, false],
    ["one of a batch that is done", { ...running, state: "done" }, { fileId: "file-2", attempt: 2 }, false],
  ] as const)("keeps or deletes %s", (_name, batch, file, expected) => {
    expect(isNeeded(batch as BatchRow, file)).toBe(expected);
  });
});
