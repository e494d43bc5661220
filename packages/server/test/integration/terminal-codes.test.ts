// Texts of providers, of input lines and of the command line never reach a terminal as codes.

import type { FakeAnswer } from "batchwise/dispatch/testing";
import { expect, test } from "vitest";
import { type Ended, ended, Practice } from "../support/practice.ts";

/**
 * Clears the screen, sets the title, writes to the clipboard, begins another line: by C0, C1 and
 * DEL.
 */
const CODES = "\x1b[2J\x1b]0;owned\x07\x9b2J\x9d52;c;eA==\x9c\x7f\r\nPROBLEM";
const SHOWN = "\\u001b[2J\\u001b]0;owned\\u0007\\u009b2J\\u009d52;c;eA==\\u009c\\u007f\\u000d\\u000aPROBLEM";

function expectPlain({ output }: Ended): void {
  expect(output).not.toMatch(/[^\P{Cc}\n]/u);
  expect(output).not.toMatch(/^PROBLEM$/m);
}

function line(id: string, model = "m"): string {
  return JSON.stringify({ id, body: { model, messages: [{ role: "user", content: id }] } });
}

function refused(code: string): FakeAnswer {
  return { status: 400, body: { error: { code, message: `No.${CODES}` } } };
}

test("run, jobs list and jobs inspect show control characters as escapes, and JSON has them", async () => {
  const practice = await Practice.start({ answer: () => refused(`code${CODES}`) });
  const [job, id] = [`job${CODES}`, `id${CODES}`];
  practice.write("in.jsonl", line(id, `m${CODES}`));
  const ran = await ended(practice.run("in.jsonl", "--job", job));
  expect(ran.output).toContain(`job "job${SHOWN}"`);
  expectPlain(ran);
  for (const args of [["list"], ["inspect", job], ["inspect", `${job}:${id}`], ["inspect", CODES]]) {
    const shown = await practice.done("jobs", ...args);
    expect(shown.output).toContain(SHOWN);
    expectPlain(shown);
  }
  const { stdout } = await practice.done("jobs", "inspect", job, "--json");
  expect(JSON.parse(stdout)).toMatchObject({ job, errorCodes: { [`code${CODES}`]: 1 } });
});

test("an input's mistake, a wrong argument and a provider's refusal are shown without codes", async () => {
  const practice = await Practice.start();
  practice.write("in.jsonl", [line(CODES), line(CODES)].join("\n"));
  const reply = { status: 401, body: { error: { message: CODES } } };
  practice.fake.inject({ on: "batches.list", times: 9, reply });
  for (const args of [
    ["run", "in.jsonl"],
    ["run", "in.jsonl", `--${CODES}`],
    ["jobs", "doctor"],
    ["jobs", CODES],
  ]) {
    const shown = await practice.done(...args);
    expect(shown.output).toContain(SHOWN.slice(0, 13));
    expectPlain(shown);
  }
});

test("jobs inspect counts error codes that objects have as properties, the most frequent first", async () => {
  const codes = ["__proto__", "constructor", "toString", "toString", "7", "other", "other", "other"];
  const practice = await Practice.start({ answer: ({ customId: _, ...rest }) => refused(codeIn(rest)) });
  practice.write("in.jsonl", codes.map((code, n) => line(`${n} ${code}`)).join("\n"));
  expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 3 });
  const { output } = await practice.done("jobs", "inspect", "in");
  expect(output).toMatch(/^error codes +3 other, 2 toString, (1 (__proto__|constructor|7)(, |$)){3}/m);
  const { stdout } = await practice.done("jobs", "inspect", "in", "--json");
  const { errorCodes } = JSON.parse(stdout) as { readonly errorCodes: object };
  const counts = { toString: 2, constructor: 1, other: 3, "7": 1, ["__proto__"]: 1 };
  expect(new Map(Object.entries(errorCodes))).toEqual(new Map(Object.entries(counts)));
});

/** The code for the content of a line. */
function codeIn(given: object): string {
  return /"content":"\d ([^"]+)"/.exec(JSON.stringify(given))?.[1] ?? "none";
}
