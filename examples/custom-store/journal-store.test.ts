import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeConformance } from "batchwise/dispatch/testing";
import { describe, expect, test } from "vitest";
import { checkCase } from "./check.ts";
import { journalStore } from "./journal-store.ts";

describe("the journal store of the example", () => {
  test.each(storeConformance)("$name", checkCase);

  test("omits a last entry that a crash has cut off, and writes over it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "custom-store-"));
    const path = join(folder, "journal");
    const request = {
      ...{ digest: "d", lane: "/v1/embeddings  m", priority: 0, tenant: "", job: "", deadlineAt: null },
      ...{ bytes: 1, tokens: 1, metadata: null, body: "{}" },
    };
    const store = journalStore(path);
    await store.enqueue([{ ...request, id: "a" }], 1);
    await store.close();
    appendFileSync(path, "cut off");

    const again = journalStore(path);
    await again.enqueue([{ ...request, id: "b" }], 1);
    await again.close();
    const last = journalStore(path);
    expect((await last.requests({ ids: ["a", "b"] })).map(({ id }) => id)).toEqual(["a", "b"]);
    await last.close();
    rmSync(folder, { recursive: true });
  });
});
