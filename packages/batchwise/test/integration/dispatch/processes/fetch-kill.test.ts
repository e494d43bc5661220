// A program over `batchFetch`, killed in the middle and begun again, at the strict fake provider
// over a real socket.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fakeProvider } from "batchwise/dispatch/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../../../../../../scripts/bundled-program.ts";
import { makeFolder } from "../../../dispatch/stores/sqlite/folder.ts";
import { scratchFolder } from "../../../house/repository.ts";

const CALLS = 1_000;
const bundle = scratchFolder("fetch-child");
const folder = makeFolder();
let child: string;
beforeAll(async () => {
  child = await bundledProgram(new URL("fetch-child.ts", import.meta.url), bundle);
});
afterAll(() => {
  folder.remove();
  rmSync(bundle, { recursive: true });
});

test.each(["while batches are sent", "while batches run", "while results are read"])(
  "killed %s, the second run gives every answer, and no line runs twice",
  async (moment) => {
    const fake = fakeProvider({ plan: { validateMs: 50, runMs: 1_500, finalizeMs: 50 } });
    const server = await fake.listen();
    onTestFinished(() => server.close());
    const path = `${folder.file()}.db`;
    const run = (): ChildProcess => {
      const args = ["--no-warnings", child, server.url, path, String(CALLS)];
      return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    };
    const reached = (): boolean => {
      if (moment === "while batches are sent") return fake.calls("batches.create") >= 3;
      if (moment === "while batches run") return fake.calls("batches.create") >= 10;
      return fake.calls("files.content") >= 2;
    };
    const first = run();
    while (!reached() && first.exitCode === null) await sleep(5);
    first.kill("SIGKILL");
    if (first.exitCode === null && first.signalCode === null) await once(first, "exit");
    const second = run();
    const [output, [code]] = await Promise.all([text(second.stdout as never), once(second, "exit")]);
    expect(code).toBe(0);
    const answers = JSON.parse(output) as string[];
    expect(answers).toEqual(answers.map((_, index) => expect.stringContaining(`Question ${index}?`)));
    expect(answers).toHaveLength(CALLS);
    expect([...fake.runs().values()].filter((runs) => runs !== 1)).toEqual([]);
    expect(fake.runs().size).toBe(CALLS);
  },
);
