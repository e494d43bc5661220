import { describe, expect, test } from "vitest";
import { filesMatching, textOf } from "../repository.ts";
import { longestFile, longestFunction, oversize } from "./sizes.ts";

const lines = (count: number): string => "  work();\n".repeat(count);

describe("the size limits", () => {
  test("a file at the limit passes, one line more does not", () => {
    expect(oversize("a.ts", lines(longestFile))).toEqual([]);
    expect(oversize("a.ts", lines(longestFile + 1))).toEqual([`a.ts is ${longestFile + 1} lines long`]);
  });

  test.each([
    ["function", (body: string) => `\nfunction f() {\n${body}}\n`],
    ["arrow", (body: string) => `\nconst f = () => {\n${body}};\n`],
    ["method", (body: string) => `class A {\n  f() {\n${body}  }\n}\n`],
    ["test", (body: string) => `\ntest("works", () => {\n${body}});\n`],
    ["test inside a describe", (body: string) => `describe("all", () => {\ntest("works", () => {\n${body}});\n});\n`],
  ])("a %s at the limit passes, one line more does not", (_kind, wrap) => {
    expect(oversize("a.ts", wrap(lines(longestFunction - 2)))).toEqual([]);
    expect(oversize("a.ts", wrap(lines(longestFunction - 1)))).toEqual([
      `a.ts:2 a function of ${longestFunction + 1} lines`,
    ]);
  });

  test.each(["describe", "describe.each([1])", "describe.concurrent"])("the body of %s is not a function", (suite) => {
    expect(oversize("a.ts", `${suite}("all", () => {\n${lines(longestFunction)}});\n`)).toEqual([]);
  });
});

test("every file and every function of the repository is within the limits", () => {
  const files = filesMatching("*.ts", "{packages,bench,compat,examples,scripts,site}/**/*.{ts,mjs,js}");
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap((file) => oversize(file, textOf(file)))).toEqual([]);
});
