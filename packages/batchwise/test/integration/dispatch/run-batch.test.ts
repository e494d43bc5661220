// Runs of a job as real processes on one SQLite file, over a real socket to the strict fake provider: killed, stopped by a
// signal, and two at a time.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type FakeProvider, fakeProvider, type Listening } from "batchwise/dispatch/testing";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../../dispatch/stores/sqlite/folder.ts";
import type { JobWork } from "./job-child.ts";

const COUNT = 3_000;
const folder = makeFolder();
afterAll(() => folder.remove());

class Runs {
  readonly fake: FakeProvider = fakeProvider({
    plan: ({ index }) => ({ validateMs: 50, runMs: 300 * (index + 1), finalizeMs: 50 }),
  });
  readonly #path = folder.file();
  #server: Promise<Listening> | null = null;

  /** Runs a child to its end; it gets the signal at the first line that `at` says yes to. */
  async run(signal: NodeJS.Signals | null = null, at: (line: string) => boolean = () => false, pauseMs = 0) {
    this.#server ??= this.fake.listen();
    const { url } = await this.#server;
    const work: JobWork = { path: this.#path, url, count: COUNT, pauseMs };
    const script = new URL("job-child.ts", import.meta.url).pathname;
    const child: ChildProcess = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = once(child, "close");
    const outcomes = new Map<number, string>();
    let lines = 0;
    let isSent = false;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const [index = "", status = ""] = line.split(" ");
      if (index !== "enqueued") {
        outcomes.set(Number(index), status);
        lines += 1;
      }
      if (signal === null || isSent || !at(line)) continue;
      isSent = child.kill(signal);
    }
    const [code, killedBy] = (await closed) as [number | null, string | null];
    return { outcomes, lines, code, killedBy };
  }

  expectAll({ outcomes, lines, code }: { outcomes: ReadonlyMap<number, string>; lines: number; code: number | null }) {
    expect([code, lines, outcomes.size]).toEqual([0, COUNT, COUNT]);
    expect([...outcomes.values()].every((status) => status === "succeeded")).toBe(true);
    const runs = [...this.fake.runs().values()];
    expect([runs.length, Math.max(...runs)]).toEqual([COUNT, 1]);
  }

  async end(): Promise<void> {
    await (await this.#server)?.close();
  }
}

test("killed with SIGKILL while it enqueues, and while outcomes come, a job resumes and runs nothing twice", async () => {
  const runs = new Runs();
  const first = await runs.run("SIGKILL", (line) => /^enqueued [1-9]/.test(line), 1_200);
  expect([first.killedBy, first.lines < COUNT]).toEqual(["SIGKILL", true]);
  const second = await runs.run("SIGKILL", (line) => /^\d+ succeeded$/.test(line));
  expect([second.killedBy, second.lines > 0, second.lines < COUNT]).toEqual(["SIGKILL", true, true]);
  runs.expectAll(await runs.run());
  await runs.end();
});

test("stopped by a signal in the middle, a job ends by itself and the next run goes on", async () => {
  const runs = new Runs();
  const first = await runs.run("SIGTERM", (line) => /^\d+ succeeded$/.test(line));
  expect([first.code, first.lines > 0, first.lines < COUNT]).toEqual([3, true, true]);
  runs.expectAll(await runs.run());
  await runs.end();
});

test("two processes that run one job at a time each give every outcome once", async () => {
  const runs = new Runs();
  const [one, two] = await Promise.all([runs.run(null, undefined, 200), runs.run(null, undefined, 700)]);
  runs.expectAll(one);
  runs.expectAll(two);
  await runs.end();
});
