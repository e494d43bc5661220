// The example in examples/nightly-classification as a user runs it: a process of its own on the
// built package, killed and interrupted in the middle, over a real socket to the strict fake
// provider.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type FakeProvider, fakeProvider, type Listening } from "batchwise/dispatch/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeFolder } from "../../../dispatch/stores/sqlite/folder.ts";
import { built, root } from "../../../house/repository.ts";

/** Five batches at the example's practice size, the last one small. */
const LINES = 2_100;
const MOST_MS = 60_000;

const main = `${root}examples/nightly-classification/main.ts`;
const folder = makeFolder();
beforeAll(() => void built("dispatch/stores/sqlite/index.js"));
afterAll(() => folder.remove());

interface Result {
  readonly id: string;
  readonly label: string | null;
  readonly status: string;
}

class Night {
  readonly folder = folder.file();
  readonly lines: number;
  readonly fake: FakeProvider;
  #server: Listening | null = null;

  /** One batch ends after the other, `runMs` apart, so that there is a middle to be killed in. */
  constructor(lines = LINES, runMs = 600) {
    this.lines = lines;
    this.fake = fakeProvider({
      plan: ({ index }) => ({ validateMs: 100, runMs: runMs * (index + 1), finalizeMs: 100 }),
      answer: () => ({ status: 200, body: { choices: [{ message: { content: "Billing." } }] } }),
    });
  }

  async start(): Promise<ChildProcess> {
    this.#server ??= await this.fake.listen();
    return this.run({ PRACTICE_URL: this.#server.url });
  }

  run(environment: Record<string, string>): ChildProcess {
    const input = `${this.folder}/input.jsonl`;
    mkdirSync(this.folder, { recursive: true });
    if (!existsSync(input)) {
      const lines = Array.from({ length: this.lines }, (_, n) => JSON.stringify({ id: `m${n}`, text: `Message ${n}` }));
      writeFileSync(input, `${lines.join("\n")}\n`);
    }
    const args = ["--no-warnings", main, "--folder", this.folder, "--input", input];
    const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment };
    return spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  }

  /** Of the file that is complete, or of the one that a run is writing. */
  results(run?: ChildProcess): Result[] {
    const path = `${this.folder}/results.jsonl${run === undefined ? "" : `.part-${run.pid}`}`;
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.slice(0, -1).map((line) => JSON.parse(line));
  }

  expectAllOnce(): void {
    const results = this.results();
    expect([results.length, new Set(results.map(({ id }) => id)).size]).toEqual([this.lines, this.lines]);
    expect(results.every(({ status, label }) => status === "succeeded" && label === "billing")).toBe(true);
    const runs = [...this.fake.runs().values()];
    expect([runs.length, Math.max(...runs)]).toEqual([this.lines, 1]);
  }

  async end(): Promise<void> {
    await this.#server?.close();
  }
}

async function until(happened: () => boolean): Promise<void> {
  for (const end = Date.now() + MOST_MS; Date.now() < end; await sleep(5)) if (happened()) return;
  throw new Error("It did not happen in time.");
}

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly told: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const [told, [code, signal]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, "close")]);
  return { code: code as number | null, signal: signal as string | null, told };
}

test("killed with SIGKILL while it sends and while it writes, it gives each line one result, run once", async () => {
  const night = new Night();
  const sending = await night.start();
  const first = ended(sending);
  await until(() => night.fake.calls("batches.create") > 0);
  sending.kill("SIGKILL");
  expect(await first).toMatchObject({ signal: "SIGKILL" });

  const writing = await night.start();
  const second = ended(writing);
  // On a busy machine results of the first run's batches come before the last line is known.
  const sent = (): number => night.fake.batches().reduce((sum, { requests }) => sum + requests, 0);
  await until(() => sent() === LINES && night.results(writing).length > 0);
  writing.kill("SIGKILL");
  expect(await second).toMatchObject({ signal: "SIGKILL" });
  expect(night.results(writing).length).toBeLessThan(LINES);
  expect(night.results()).toEqual([]);

  const last = await ended(await night.start());
  expect(last).toMatchObject({ code: 0, told: expect.stringContaining(`${LINES} of them known`) });
  night.expectAllOnce();
  await night.end();
});

test("stopped by Ctrl-C it ends by itself and says so, and continues in the next run", async () => {
  const night = new Night();
  const child = await night.start();
  const stopped = ended(child);
  await until(() => night.results(child).length > 0);
  child.kill("SIGINT");
  expect(await stopped).toMatchObject({ code: 130, told: expect.stringContaining("Run it again to go on.") });
  expect(night.results(child).length).toBeLessThan(LINES);

  expect(await ended(await night.start())).toMatchObject({ code: 0 });
  night.expectAllOnce();
  await night.end();
});

test("a second process on the same folder does no harm: both end with all results, and nothing runs twice", async () => {
  const night = new Night();
  const both = [await night.start(), await night.start()].map(ended);
  for (const each of await Promise.all(both)) expect(each).toMatchObject({ code: 0 });
  night.expectAllOnce();
  await night.end();
});

test("a line that is no JSON, and a flag that it does not have, are named in a sentence", async () => {
  const night = new Night(3);
  mkdirSync(night.folder, { recursive: true });
  writeFileSync(`${night.folder}/input.jsonl`, '{"id":"m1","text":"x"}\n{"id":\n');
  expect(await ended(await night.start())).toMatchObject({ code: 1, told: expect.stringContaining("JSON") });
  await night.end();
  const wrong = spawn(process.execPath, ["--no-warnings", main, "--inptu", "x"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  expect(await ended(wrong)).toMatchObject({ code: 1, told: expect.stringContaining("Unknown option '--inptu'") });
});

test("a practice provider that has ended is reported in a sentence, and the lines are not sent to another", async () => {
  const night = new Night(1);
  mkdirSync(night.folder, { recursive: true });
  const address = { url: "http://127.0.0.1:1", pid: 0 };
  writeFileSync(`${night.folder}/practice-provider.json`, JSON.stringify(address));
  const told = `\nThe practice provider has ended, and its batches with it: delete ${night.folder} and start anew.\n`;
  expect(await ended(night.run({}))).toEqual({ code: 1, signal: null, told });
});

test("without a key it starts a provider to practise with, and ends it when all is done", async () => {
  const night = new Night(400);
  const running = ended(night.run({}));
  const address = `${night.folder}/practice-provider.json`;
  await until(() => existsSync(address) && readFileSync(address, "utf8").endsWith("}"));
  const { pid } = JSON.parse(readFileSync(address, "utf8"));
  const { code, told } = await running;
  expect({ code, told }).toMatchObject({ code: 0, told: expect.stringContaining("400 of 400 done") });
  expect(told).not.toContain("will be tried again");
  expect(night.results().length).toBe(400);
  await until(() => !isAlive(pid));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
