/** Folders for files that tests write; removed at the end of the test file. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEachFile } from "../../../../scripts/after-tests.ts";

const made: string[] = [];

afterEachFile(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

export async function temporaryFolder(parent: string = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, "batchwise-test-"));
  made.push(folder);
  return folder;
}
