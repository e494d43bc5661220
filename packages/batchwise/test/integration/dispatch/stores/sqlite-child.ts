// A process of its own on a SQLite store, for tests that need a second one or one to kill. Run as
// `node sqlite-child.ts <job> <file> <name>`; starts at the first line on its input, and tells on
// its output, a line each, what it has done.

import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";

const [job, path = "", name = ""] = process.argv.slice(2);

/** Prints a line synchronously, so that a kill loses no line that was written. */
function tell(line: string): void {
  writeSync(1, `${line}\n`);
}

/**
 * Enqueues and seals in turn until nothing is left, and prints every member of every batch that it
 * got.
 */
async function claim(): Promise<void> {
  const store = sqliteStore({ path });
  for (let round = 0, empty = 0; empty < 3; round += 1) {
    if (round < 20) {
      await Promise.all(requests(10, `${name}-${round}-`).map((request) => store.enqueue([request], NOW)));
    }
    const result = await store.seal(sealInput(`${name}-${round}`, 37));
    if (result.ok) {
      const members = await store.requests({ batchKey: result.batch.key, fromOrd: 0, limit: 100 });
      tell(JSON.stringify(members.map(({ id }) => id)));
    } else if (round >= 20) {
      empty += 1;
    }
  }
  await store.close();
}

/** Enqueues ever more and tells each call that was answered. */
async function enqueue(): Promise<void> {
  const store = sqliteStore({ path });
  for (let call = 0; ; call += 1) {
    await store.enqueue(requests(1_000, `${name}-${call}-`, 2_000), NOW);
    tell(String(call));
  }
}

/** Holds the write lock until its input ends. */
function hold(): void {
  const database = new DatabaseSync(path);
  database.exec("BEGIN IMMEDIATE");
  tell("held");
  process.stdin.on("end", () => {
    database.exec("COMMIT");
    database.close();
  });
}

process.stdin.once("data", () => {
  if (job === "claim") void claim().finally(() => process.stdin.pause());
  if (job === "enqueue") void enqueue();
  if (job === "hold") hold();
});
