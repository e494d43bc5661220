import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { startCommandIn } from "../support/command.ts";
import { ended, Practice, QUICK } from "../support/practice.ts";

const MANY = 2_100;

function line(id: string, content: string, model = "m"): string {
  const body = { ...(model === "" ? {} : { model }), messages: [{ role: "user", content }] };
  return JSON.stringify({ id, body });
}

function lines(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, index) => line(`${prefix}${index}`, `Say ${index}.`));
}

async function waitingIn(practice: Practice): Promise<number> {
  const { stdout } = await practice.done("jobs", "list", "--json");
  const { jobs } = JSON.parse(stdout) as { readonly jobs: readonly { readonly requests: number }[] };
  return jobs.reduce((sum, { requests }) => sum + requests, 0);
}

describe("a file that is refused stores nothing", () => {
  test.each([
    ["a request without a model", line("bad", "x", ""), "expected a `model` in the body"],
    ["a body that no batch takes", '{"body":{"model":"m","input":"x","stream":true}}', "`stream` is not possible"],
  ])("for %s, however late", async (_name, bad, says) => {
    const practice = await Practice.start();
    practice.write("in.jsonl", [...lines(MANY, "r"), bad].join("\n"));
    const { code, output } = await ended(practice.run("in.jsonl"));
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining(`Line ${MANY + 1}: `) });
    expect(output.split(says).length).toBe(2);
    expect(output).not.toContain("requests[");
    expect(await waitingIn(practice)).toBe(0);
  });

  test("for a request that is another than in an earlier run, and the file continues once that is put right", async () => {
    const practice = await Practice.start();
    practice.write("in.jsonl", line("old", "a"));
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    practice.write("in.jsonl", [...lines(MANY, "r"), line("old", "another")].join("\n"));
    const { code, output } = await ended(practice.run("in.jsonl"));
    expect({ code, output }).toMatchObject({
      code: 2,
      output: expect.stringContaining(`Line ${MANY + 1} of in.jsonl is another`),
    });
    expect(await waitingIn(practice)).toBe(1);
    practice.write("in.jsonl", [...lines(MANY, "r"), line("old", "a")].join("\n"));
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
  });
});

test("a pipe is refused, because the input is read more than once", async () => {
  const practice = await Practice.start();
  execFileSync("mkfifo", [practice.file("in.jsonl")]);
  const { code, output } = await ended(practice.run("in.jsonl"));
  expect({ code, output }).toMatchObject({
    code: 2,
    output: expect.stringContaining("in.jsonl is a pipe or a device"),
  });
  expect(existsSync(practice.file("batchwise.sqlite"))).toBe(false);
});

test("jobs outcomes writes only over outcomes, unless --force", async () => {
  const practice = await Practice.start();
  practice.write("in.jsonl", line("a", "a"));
  expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
  const written = (...args: readonly string[]) => practice.done("jobs", "outcomes", "--output", ...args);
  for (const output of ["new.jsonl", "new.jsonl", "in.outcomes.jsonl"])
    expect(await written(output)).toMatchObject({ code: 0 });
  const says = "in.jsonl has something else than outcomes in it";
  expect(await written("in.jsonl")).toMatchObject({ code: 2, output: expect.stringContaining(says) });
  expect(await written("in.jsonl", "--force")).toMatchObject({ code: 0 });
});

test("an output that is a link to nothing is refused, and pipes and standard output are written to", async () => {
  const practice = await Practice.start();
  practice.write("in.jsonl", line("a", "a"));
  symlinkSync(practice.file("not-there"), practice.file("link.jsonl"));
  execFileSync("mkfifo", [practice.file("pipe")]);
  for (const args of [
    ["run", "in.jsonl", ...QUICK],
    ["jobs", "outcomes"],
  ]) {
    const linked = await practice.done(...args, "--output", "link.jsonl");
    expect(linked).toMatchObject({ code: 2 });
    expect(existsSync(practice.file("not-there"))).toBe(false);
    const { code, stdout } = await practice.done(...args, "--output", "/dev/stdout");
    expect({ code, lines: stdout.trim().split("\n").length }).toEqual({ code: 0, lines: 1 });
    const reader = spawn("cat", [practice.file("pipe")], { stdio: ["ignore", "pipe", "ignore"] });
    expect(await practice.done(...args, "--output", "pipe")).toMatchObject({ code: 0 });
    expect((await text(reader.stdout)).trim().split("\n")).toHaveLength(1);
    expect(existsSync(practice.file("pipe.lock"))).toBe(false);
  }
});

test("a client comes from the project of the working folder, and never from above its root", async () => {
  const practice = await Practice.start();
  const folder = practice.file("one/two");
  const planted = practice.file("node_modules/openai");
  for (const each of [folder, planted]) mkdirSync(each, { recursive: true });
  writeFileSync(join(planted, "index.js"), 'console.log("planted");process.exit(7);');
  writeFileSync(join(folder, "in.jsonl"), line("a", "a"));
  const env = { OPENAI_API_KEY: "practice", OPENAI_BASE_URL: practice.url };
  const run = async () => ended(startCommandIn({ cwd: folder, env }, "run", "in.jsonl", "--force", ...QUICK));
  expect(await run()).toMatchObject({ code: 0 });
  mkdirSync(practice.file("one/.git"));
  expect(await run()).toMatchObject({ code: 0 });
  rmdirSync(practice.file("one/.git"));
  practice.write("package-lock.json", "{}");
  expect(await run()).toMatchObject({ code: 7 });
});

test("the store is never written over by outcomes", async () => {
  const practice = await Practice.start();
  practice.write("in.jsonl", line("a", "a"));
  const says = "The output batchwise.sqlite is the store: name another file.";
  const first = await ended(practice.run("in.jsonl", "--output", "batchwise.sqlite"));
  expect(first).toMatchObject({ code: 2, output: expect.stringContaining(says) });
  expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
  for (const args of [
    ["run", "in.jsonl", "--force"],
    ["jobs", "outcomes"],
  ]) {
    const again = await practice.done(...args, "--output", "batchwise.sqlite");
    expect(again).toMatchObject({ code: 2, output: expect.stringContaining(says) });
  }
  expect(await waitingIn(practice)).toBe(1);
});
