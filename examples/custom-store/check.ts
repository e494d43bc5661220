// Runs the store suite on the journal store, without a test runner:
// `npm run build && node examples/custom-store/check.ts`.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "batchwise/dispatch";
import { type StoreCase, storeConformance } from "batchwise/dispatch/testing";
import { journalStore } from "./journal-store.ts";

/**
 * Runs one case with a new journal. Only one process may have a journal: it is opened again only
 * after it was closed.
 */
export async function checkCase({ run }: StoreCase): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "custom-store-"));
  let current: Store | null = null;
  const open = async (): Promise<Store> => {
    const closed =
      current !== null &&
      (await current.probe(1, 0).then(
        () => false,
        () => true,
      ));
    if (current === null || closed) current = journalStore(join(folder, "journal"));
    return current;
  };
  try {
    await run(open);
    await (await open()).close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  let failed = 0;
  for (const one of storeConformance) {
    const error: unknown = await checkCase(one).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error !== null) failed += 1;
    process.stdout.write(`${error === null ? "ok  " : "FAIL"} ${one.name}\n`);
    if (error !== null) process.stdout.write(`     ${String(error)}\n`);
  }
  process.stdout.write(`${storeConformance.length - failed} of ${storeConformance.length} cases passed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
