// The file of a SQLite store is moved away by another process while requests are enqueued without a
// pause, each time a few calls later. All that was acknowledged is in the file that was moved, and
// nothing is acknowledged afterwards.

import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { sqliteStore } from "../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, NOW, requests } from "../test/dispatch/stores/sqlite/folder.ts";

const ROUNDS = Number(process.env.PROVE_ROUNDS ?? 100);
const folder = makeFolder();
afterAll(() => folder.remove());

/** The file is moved once so many calls were acknowledged. */
async function round(callsBefore: number): Promise<{ acknowledged: number; missing: string[] }> {
  const inside = folder.file();
  mkdirSync(inside);
  const [path, kept] = [`${inside}/store.db`, `${inside}/kept.db`];
  const store = sqliteStore({ path });
  const acknowledged = new Set<string>();
  await store.enqueue(requests(1, "first"), NOW);
  let moved: Promise<unknown> = Promise.resolve();
  let refused: unknown = null;
  for (let call = 0; refused === null; call += 1) {
    if (call === callsBefore)
      moved = promisify(execFile)("sh", ["-c", `mv ${path} ${kept} && mv ${path}-wal ${kept}-wal`]);
    await store.enqueue(requests(1, `${call}-`), NOW).then(
      () => void acknowledged.add(`${call}-0`),
      (error: unknown) => {
        refused = error;
      },
    );
  }
  expect(refused).toMatchObject({ code: "STORE_DAMAGED" });
  await moved;
  await expect(store.enqueue(requests(1, "late"), NOW)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await store.close();
  const reader = sqliteStore({ path: kept });
  const rows = await reader.requests({ ids: [...acknowledged] });
  await reader.close();
  const there = new Set(rows.map(({ id }) => id));
  return { acknowledged: acknowledged.size, missing: [...acknowledged].filter((id) => !there.has(id)) };
}

test("a file that is moved away loses nothing that was acknowledged", async () => {
  let acknowledged = 0;
  for (let count = 0; count < ROUNDS; count += 1) {
    const ended = await round(count % 8);
    acknowledged += ended.acknowledged;
    expect(ended.missing).toEqual([]);
  }
  console.log(`${acknowledged} acknowledged in ${ROUNDS} rounds`);
});
