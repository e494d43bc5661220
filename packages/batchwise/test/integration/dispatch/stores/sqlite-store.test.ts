// The SQLite store and real processes: two that claim, one that is killed, one that holds the lock.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { afterAll, describe, expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

interface Child {
  readonly process: ChildProcess;
  readonly lines: Interface;
  readonly ended: Promise<unknown>;
}

function start(job: "claim" | "enqueue" | "hold", path: string, name = "child"): Child {
  const script = new URL("sqlite-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, job, path, name], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  child.stdin.write("go\n");
  return { process: child, lines: createInterface({ input: child.stdout }), ended };
}

async function linesOf(child: Child): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of child.lines) lines.push(line);
  await child.ended;
  return lines;
}

describe("two processes on one file", () => {
  test("put no request in two batches, and omit none", async () => {
    const path = folder.file();
    const store = sqliteStore({ path });
    await store.enqueue(requests(600, "first-"), NOW);
    const told = await Promise.all([start("claim", path, "one"), start("claim", path, "two")].map(linesOf));
    const members = told.flat().flatMap((line) => JSON.parse(line) as string[]);
    expect(told.map((lines) => lines.length > 0)).toEqual([true, true]);
    expect(members).toHaveLength(1_000);
    expect(new Set(members).size).toBe(1_000);
    const { lanes, inBatches } = await store.probe(1, NOW);
    expect([lanes, inBatches]).toEqual([[], 1_000]);
    await store.close();
  });

  test("make its tables together when both are the first", async () => {
    const path = folder.file();
    const told = await Promise.all([start("claim", path, "one"), start("claim", path, "two")].map(linesOf));
    const members = told.flat().flatMap((line) => JSON.parse(line) as string[]);
    expect(new Set(members).size).toBe(400);
    expect(members).toHaveLength(400);
  });
});

describe("a process that is killed while it enqueues", () => {
  test.each([1, 2, 3])("loses no answered request, and stores no call in parts (kill %i)", async (kill) => {
    const path = folder.file();
    const child = start("enqueue", path);
    let answered = -1;
    await new Promise<void>((resolve) => {
      child.lines.on("line", (line) => {
        answered = Number(line);
        if (answered === kill * 3) resolve();
      });
    });
    // Somewhere in the next call, another place each time.
    await new Promise((resolve) => setTimeout(resolve, kill * 7));
    child.process.kill("SIGKILL");
    await child.ended;

    const store = sqliteStore({ path });
    const { ready } = (await store.probe(10_000_000, NOW)).lanes[0] ?? { ready: 0 };
    expect(ready % 1_000).toBe(0);
    expect(ready).toBeGreaterThanOrEqual((answered + 1) * 1_000);
    for (let call = 0; call <= answered; call += 1) {
      const again = requests(1_000, `child-${call}-`, 2_000);
      const rows = await store.requests({ ids: again.map(({ id }) => id), bodies: true });
      expect(rows.map(({ body }) => body)).toEqual(again.map(({ body }) => body));
      expect(new Set(await store.enqueue(again, NOW))).toEqual(new Set(["same"]));
    }
    await store.close();
  });
});

describe("a database that another process has locked", () => {
  test("rejects writes with STORE_UNAVAILABLE after the patience given, and can be read meanwhile", async () => {
    const path = folder.file();
    const store = sqliteStore({ path, busyTimeoutMs: 150 });
    await store.enqueue(requests(2, "r"), NOW);
    const child = start("hold", path);
    await once(child.lines, "line");
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 5);
    const refused = {
      code: "STORE_UNAVAILABLE",
      retryable: true,
      message: expect.stringMatching(/another connection/),
    };
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject(refused);
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(5); // the event loop went on
    expect((await store.probe(10, NOW)).lanes[0]?.ready).toBe(2);
    child.process.stdin?.end();
    await child.ended;
    expect(await store.enqueue(requests(1, "s"), NOW)).toEqual(["stored"]);
    await store.close();
  });

  test("is written to as soon as the lock is free", async () => {
    const path = folder.file();
    const store = sqliteStore({ path });
    await store.enqueue(requests(1, "r"), NOW);
    const child = start("hold", path);
    await once(child.lines, "line");
    const calls = [store.enqueue(requests(1, "s"), NOW), store.enqueue(requests(1, "t"), NOW)];
    const closing = store.close();
    setTimeout(() => child.process.stdin?.end(), 100);
    expect(await Promise.all(calls)).toEqual([["stored"], ["stored"]]);
    await closing;
    await child.ended;
  });
});
