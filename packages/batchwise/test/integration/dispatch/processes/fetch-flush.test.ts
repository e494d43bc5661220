// `batchFetch` in a process without loops, whose flush goes through the store to the loops of
// another process, at the strict fake provider over a real socket.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fakeProvider } from "batchwise/dispatch/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../../../../../../scripts/bundled-program.ts";
import { makeFolder } from "../../../dispatch/stores/sqlite/folder.ts";
import { scratchFolder } from "../../../house/repository.ts";
import { postgresPlace } from "../../services/kept.ts";
import type { Place } from "../stores/open-store.ts";
import type { FetchCall } from "./flush-caller-child.ts";

const CALLS = 50;
const folder = makeFolder();
const bundles = scratchFolder("fetch-flush");
afterAll(() => {
  folder.remove();
  rmSync(bundles, { recursive: true });
});

const places: readonly [string, () => Promise<Place>][] = [
  ["SQLite", async () => ({ kind: "sqlite", path: `${folder.file()}.db` })],
  ["Postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
];

let loopsProgram: string;
let callerProgram: string;
beforeAll(async () => {
  loopsProgram = await bundledProgram(new URL("flush-loops-child.ts", import.meta.url), bundles);
  callerProgram = await bundledProgram(new URL("flush-caller-child.ts", import.meta.url), bundles);
});

function begin(program: string, given: FetchCall): ChildProcess {
  const args = ["--no-warnings", program, JSON.stringify(given)];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

test.each(places)(
  "%s: the loops of one process send the requests of `batchFetch` in another, in one batch",
  async (_name, placeOf) => {
    const fake = fakeProvider({ plan: { validateMs: 50, runMs: 100, finalizeMs: 50 } });
    const server = await fake.listen();
    onTestFinished(() => server.close());
    const given = { url: server.url, place: await placeOf(), count: CALLS };
    const loops = begin(loopsProgram, given);
    const loopsEnded = once(loops, "close");
    onTestFinished(async () => {
      loops.kill("SIGTERM");
      await loopsEnded;
    });
    const caller = begin(callerProgram, given);
    const [output, [code]] = await Promise.all([text(caller.stdout as never), once(caller, "close")]);
    expect(code).toBe(0);
    const answers = JSON.parse(output) as string[];
    expect(answers).toEqual(Array.from({ length: CALLS }, (_, index) => expect.stringContaining(`Question ${index}?`)));
    expect([fake.calls("batches.create"), ...fake.runs().values()]).toEqual([1, ...Array(CALLS).fill(1)]);
    loops.kill("SIGTERM");
    expect(await loopsEnded).toEqual([0, null]);
  },
);
