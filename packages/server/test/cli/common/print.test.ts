import { expect, test } from "vitest";
import { withoutPassword } from "../../../src/cli/common/addresses.ts";
import { quoted } from "../../../src/cli/common/command-line.ts";
import { wordsOf } from "../../../src/cli/common/failures.ts";
import { dollars, duration, listed, plural, short, table } from "../../../src/cli/common/print.ts";

test("a table has columns as wide as their widest cell, numbers to the right, and - for nothing", () => {
  expect(
    table(
      ["NAME", "COUNT"],
      [
        ["a long name", 1_234],
        ["b", null],
      ],
      "none",
    ),
  ).toEqual(["NAME         COUNT", "a long name  1,234", "b                -"]);
  expect(table(["NAME"], [], "Nothing.")).toEqual(["Nothing."]);
});

test.each([
  [20, "20 ms"],
  [1_500, "2 s"],
  [91_000, "2 min"],
  [2 * 3_600_000, "2.0 h"],
  [3 * 86_400_000, "3.0 d"],
])("%i ms are %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [0, "$0.0000"],
  [0.00001, "< $0.0001"],
  [0.00005, "$0.0001"],
  [1.5, "$1.5000"],
  [12.3, "$12.30"],
])("%d dollars are %s", (amount, text) => {
  expect(dollars(amount)).toBe(text);
});

test.each([
  [999, "999"],
  [1_200, "1.2k"],
  [45_000, "45k"],
  [1_200_000, "1.2M"],
  [3e9, "3.0G"],
])("%i is %s in short", (value, text) => {
  expect(short(value)).toBe(text);
});

test("counts are listed without those of nothing", () => {
  expect(listed({ running: 3, done: 0, sealed: 1_000 })).toBe("3 running, 1,000 sealed");
  expect([plural(1, "batch", "batches"), plural(2, "batch", "batches")]).toEqual(["1 batch", "2 batches"]);
});

test("words are quoted for a shell, and passwords left out", () => {
  expect(["a-b.jsonl", "it's here"].map(quoted)).toEqual(["a-b.jsonl", "'it'\\''s here'"]);
  expect(withoutPassword("postgres://me:p:w@host/db")).toBe("postgres://me:…@host/db");
  expect(withoutPassword("redis://host:6379")).toBe("redis://host:6379");
  expect(withoutPassword("--store=postgres://me:pw@host/db")).toBe("--store=postgres://me:…@host/db");
  expect(withoutPassword("rediss://:pw@host:6379/0")).toBe("rediss://:…@host:6379/0");
  expect(withoutPassword("postgres://me:p@/w@host/db")).toBe("postgres://me:…@host/db");
  expect(withoutPassword("postgres://host/db?user=me&password=pw&ssl=1")).toBe(
    "postgres://host/db?user=me&password=…&ssl=1",
  );
  expect(withoutPassword("in@home:2.jsonl")).toBe("in@home:2.jsonl");
});

test("an error's words have those of its causes, once", () => {
  const cause = new Error("connect ECONNREFUSED");
  expect(wordsOf(new Error("Connection error.", { cause }))).toBe("Connection error: connect ECONNREFUSED");
  expect(wordsOf(new Error("It failed: connect ECONNREFUSED.", { cause }))).toBe("It failed: connect ECONNREFUSED.");
  expect(wordsOf("text")).toBe("text");
  const both = new AggregateError(["::1", "127.0.0.1"].map((host) => new Error(`connect ECONNREFUSED ${host}:1`)));
  const words = "Connection error: connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1";
  expect(wordsOf(new Error("Connection error.", { cause: both }))).toBe(words);
});
