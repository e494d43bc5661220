// Warnings without a listener, in separate processes: what they print, when, and that the process
// still ends.

import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";

const library = new URL("../../src/index.ts", import.meta.url).href;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with the library's names `batch` and `createBatcher` in a process of its own. */
function run(program: string, ...flags: string[]): Promise<Ended> {
  const source = `import { batch, batched, createBatcher } from ${JSON.stringify(library)};\n${program}`;
  const child = spawn(process.execPath, [...flags, "--input-type=module", "--eval", source]);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

const ECHO = "(items) => items";
const SLEEP = "await new Promise((resolve) => setTimeout(resolve, 1300));";

/** Lines of the first row of a printed warning. */
const printed = ({ stderr }: Ended): string[] => stderr.split("\n").filter((line) => line.includes("BatchwiseWarning"));

describe("a warning without a listener after 1 s", () => {
  test("is printed once a code and process, with its code, the batcher's name and the way to listen", async () => {
    const ended = await run(`
      batch(${ECHO}, { prefetch: 1, name: "texts" });
      createBatcher(${ECHO}, { prefetch: 1, name: "others" });
      ${SLEEP}
      batch(${ECHO}, { prefetch: 1 });
      ${SLEEP}
    `);
    expect(ended.code).toBe(0);
    expect(printed(ended)).toHaveLength(1);
    expect(ended.stderr).toMatch(/\[OPTIONS\] BatchwiseWarning: Batcher `texts`: `prefetch` prepares no batch/);
    expect(ended.stderr).toContain('on("warning", listener)');
  });

  test("says that its batcher has no name, and names the option", async () => {
    const ended = await run(`batch(${ECHO}, { prefetch: 1 });`);
    expect(printed(ended)).toEqual([
      expect.stringMatching(/\[OPTIONS\] BatchwiseWarning: A batcher without `name`: `prefetch` prepares no batch/),
    ]);
  });

  test("is not printed where a listener comes in time, and is given to it", async () => {
    const ended = await run(`
      const texts = batch(${ECHO}, { prefetch: 1 });
      await new Promise((resolve) => setTimeout(resolve, 200));
      texts.on("warning", ({ code }) => console.log(code));
      ${SLEEP}
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "OPTIONS\n", stderr: "" });
  });

  test("holds no process open: one that ends sooner prints at its end", async () => {
    const ended = await run(`
      batch(${ECHO}, { prefetch: 1 });
      const startedAt = performance.now();
      process.on("exit", () => console.log(performance.now() - startedAt < 900));
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "true\n" });
    expect(printed(ended)).toHaveLength(1);
  });

  test("is not printed by a batcher on a clock of its own", async () => {
    const clock = "{ now: () => Date.now(), setTimeout, clearTimeout }";
    const ended = await run(`batch(${ECHO}, { prefetch: 1, clock: ${clock} });`);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("goes to `console.warn` where there is no process", async () => {
    const ended = await run(`
      const real = globalThis.process;
      globalThis.process = undefined;
      console.warn = (text) => console.log(text);
      batch(${ECHO}, { prefetch: 1 });
      ${SLEEP}
      globalThis.process = real;
    `);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(/^\[OPTIONS\] A batcher without `name`: `prefetch` prepares no batch/);
  });

  test("keeps no process listener of this package once it is printed", async () => {
    const ended = await run(`
      batch(${ECHO}, {});
      console.log(process.listenerCount("beforeExit"));
      batch(${ECHO}, { prefetch: 1 });
      console.log(process.listenerCount("beforeExit"));
      ${SLEEP}
      console.log(process.listenerCount("beforeExit"));
    `);
    expect(ended.stdout).toBe("0\n1\n0\n");
  });
});

describe("items that `maxWaitMs: Infinity` holds without a `flush()` or `close()`", () => {
  test("run when the process is about to end, which prints why, and the process ends well", async () => {
    const ended = await run(`
      const double = batch(async (items) => items.map((item) => item * 2), { maxWaitMs: Infinity });
      Promise.all([1, 2, 3].map((item) => double(item))).then((answers) => console.log(answers.join()));
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "2,4,6\n" });
    expect(ended.stderr).toMatch(/\[HELD_AT_EXIT\].*held 3 items.*`flush\(\)`/);
  });

  test("run also where each answer brings the next item, by one listener for all batchers", async () => {
    const ended = await run(`
      const all = [1, 2, 3].map(() => batch((items) => items, { maxWaitMs: Infinity }));
      for (const one of all) one(0);
      await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(process.listenerCount("beforeExit"));
      console.log(await all[0](1));
      console.log(await all[0](2));
      console.log(process.listenerCount("beforeExit"));
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "1\n1\n2\n0\n" });
  });

  test.each([
    ["holds them", "{ maxWaitMs: Infinity }", ""],
    ["would have sent them", "{ maxWaitMs: 5 }", ""],
    ["waits for nothing", "{}", "await new Promise((resolve) => setTimeout(resolve, 10));"],
  ])("are named, and not run, in a paused batcher that %s", async (_what, options, pause) => {
    const ended = await run(`
      const held = batch(() => { throw console.log("called"); }, ${options});
      held.pause();
      held(1);
      held(2);
      ${pause}
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).toMatch(
      /\[HELD_AT_EXIT\].*paused batcher loses 2 items: the process ends.*`resume\(\)` or `close\(\)`/,
    );
  });

  test("are not named where a paused batcher has none, is flushed, or is closed", async () => {
    const ended = await run(`
      const [none, flushed, closed] = [1, 2, 3].map(() => batch((items) => items));
      for (const one of [none, flushed, closed]) one.pause();
      const answers = [flushed(1), closed(2)];
      await Promise.all([flushed.flush(), closed.close()]);
      console.log((await Promise.all(answers)).join());
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "1,2\n", stderr: "" });
  });

  test("run where a listener resumes the batcher then", async () => {
    const ended = await run(`
      const held = batch((items) => items);
      held.pause();
      held.on("warning", ({ code }) => { console.log(code); held.resume(); });
      held(1).then(console.log);
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "HELD_AT_EXIT\n1\n", stderr: "" });
  });
});
