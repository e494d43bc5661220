// The lock of an output file: which process gets it if owners were killed, run elsewhere or have
// the same process id.

import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type LockOwner, takeLock, thisProcess } from "../../../src/cli/run/file-lock.ts";
import { temporaryFolder } from "../../support/folders.ts";

const GONE = 4_000_001;
const runs = (pid: number): boolean => pid !== GONE;

function owner(token: string, more: Partial<LockOwner> = {}): LockOwner {
  return { ...thisProcess(), pid: 4_000_002, token, ...more };
}

async function lockPath(): Promise<string> {
  return join(await temporaryFolder(), "out.jsonl.lock");
}

test("one process has it at a time, and nothing is left of it afterwards", async () => {
  const path = await lockPath();
  const first = takeLock(path, owner("a"), runs);
  expect(takeLock(path, owner("b", { pid: 7 }), runs)).toMatchObject({ lock: null, owner: { token: "a" } });
  first.lock?.release();
  const second = takeLock(path, owner("b", { pid: 7 }), runs);
  expect(second.lock).not.toBeNull();
  // The lock is no longer its own.
  first.lock?.release();
  expect(existsSync(path)).toBe(true);
  second.lock?.release();
  expect(readdirSync(dirname(path))).toEqual([]);
});

test.each([
  ["of a process that was killed", JSON.stringify(owner("old", { pid: GONE }))],
  ["of an earlier version, whose process was killed", String(GONE)],
  ["that was cut off", ""],
  ["of an earlier process with our number", JSON.stringify(owner("old"))],
])("a lock %s is taken over", async (_what, text) => {
  const path = await lockPath();
  writeFileSync(path, text);
  const { lock } = takeLock(path, owner("a"), runs);
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ token: "a" });
  lock?.release();
  expect(readdirSync(dirname(path))).toEqual([]);
});

test("of two processes that find a dead lock at the same moment one takes it", async () => {
  const path = await lockPath();
  writeFileSync(path, JSON.stringify(owner("old", { pid: GONE })));
  const others: unknown[] = [];
  const slow = takeLock(path, owner("slow", { pid: 7 }), (pid) => {
    // It has seen that the owner is dead; before it acts, another process has taken the lock.
    if (pid === GONE && others.length === 0) others.push(takeLock(path, owner("quick", { pid: 8 }), runs).lock);
    return runs(pid);
  });
  expect(others).toEqual([expect.anything()]);
  expect(slow).toMatchObject({ lock: null, owner: { token: "quick" } });
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ token: "quick" });
});

test("process 1 of another container is another process, until it has not touched its lock for a minute", async () => {
  const path = await lockPath();
  takeLock(path, owner("a", { pid: 1, place: "one" }), runs);
  const second = owner("b", { pid: 1, place: "two" });
  expect(takeLock(path, second, runs)).toMatchObject({ lock: null, owner: { token: "a" } });
  const before = new Date(Date.now() - 61_000);
  utimesSync(path, before, before);
  expect(takeLock(path, second, runs).lock).not.toBeNull();
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ token: "b" });
});
