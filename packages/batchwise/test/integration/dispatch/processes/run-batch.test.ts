// A job in real processes on SQLite: killed, interrupted and run twice at once, over a socket to
// the strict fake.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../../../dispatch/stores/sqlite/folder.ts";
import type { JobWork } from "./job-child.ts";

const REQUESTS = 2_600;
const folder = makeFolder();
afterAll(() => folder.remove());

/** One batch ends after the other, so that there is a middle to be killed in. */
function slowFake(): FakeProvider {
  return fakeProvider({ plan: ({ index }) => ({ validateMs: 50, runMs: 500 * (index + 1), finalizeMs: 50 }) });
}

class Run {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown[]>;

  constructor(work: JobWork) {
    const script = new URL("job-child.ts", import.meta.url).pathname;
    const args = ["--no-warnings", script, JSON.stringify(work)];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const output = createInterface({ input: this.#child.stdout as NonNullable<ChildProcess["stdout"]> });
    output.on("line", (line) => void this.lines.push(line));
    this.#closed = Promise.all([once(this.#child, "close"), once(output, "close")]);
  }

  /** Sends the signal once it is time for it. */
  async interrupt(signal: "SIGKILL" | "SIGINT", isTime: () => boolean): Promise<void> {
    while (!isTime()) await new Promise((resolve) => setTimeout(resolve, 5));
    this.#child.kill(signal);
    await this.#closed;
  }

  async end(): Promise<void> {
    await this.#closed;
  }
}

const ids = Array.from({ length: REQUESTS }, (_, n) => `night:${n}`).toSorted();

function expectAllOnce({ lines }: Run, fake: FakeProvider): void {
  expect(lines.at(-1)).toBe("end");
  expect(lines.slice(0, -1).toSorted()).toEqual(ids);
  expect([fake.runs().size, Math.max(...fake.runs().values())]).toEqual([REQUESTS, 1]);
}

test("killed with SIGKILL while it sends and while it reads, a job continues in the next run and runs nothing twice", async () => {
  const fake = slowFake();
  const { url, close } = await fake.listen();
  const work = { path: folder.file(), url, requests: REQUESTS };
  const sending = new Run(work);
  await sending.interrupt("SIGKILL", () => fake.calls("batches.create") > 0);
  expect(sending.lines).not.toContain("end");

  const reading = new Run(work);
  await reading.interrupt("SIGKILL", () => reading.lines.length > 0);
  expect(reading.lines).not.toContain("end");
  expect(reading.lines.length).toBeLessThan(REQUESTS);

  const last = new Run(work);
  await last.end();
  expectAllOnce(last, fake);
  await close();
});

test("interrupted, it comes to an end by itself, and the next run continues at once", async () => {
  const fake = slowFake();
  const { url, close } = await fake.listen();
  const work = { path: folder.file(), url, requests: REQUESTS };
  const first = new Run(work);
  await first.interrupt("SIGINT", () => first.lines.length > 0);
  expect(first.lines.at(-1)).toBe("stopped");
  expect(first.lines.length).toBeLessThan(REQUESTS);
  const second = new Run(work);
  await second.end();
  expectAllOnce(second, fake);
  await close();
});

test("two processes that run one job at once are each given all outcomes, and nothing runs twice", async () => {
  const fake = slowFake();
  const { url, close } = await fake.listen();
  const work = { path: folder.file(), url, requests: REQUESTS };
  const runs = [new Run(work), new Run(work)];
  await Promise.all(runs.map((run) => run.end()));
  for (const run of runs) expectAllOnce(run, fake);
  await close();
});
