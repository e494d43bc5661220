import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ended, Practice } from "../support/practice.ts";

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

describe("a file that is refused leaves nothing in the store", () => {
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

  test("for a request that is another than in an earlier run, and the file goes on once that is put right", async () => {
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
