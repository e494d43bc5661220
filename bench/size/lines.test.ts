import { describe, expect, test } from "vitest";
import { linesOfCode } from "./lines.ts";

const count = (...lines: readonly string[]): number => linesOfCode("a.ts", lines.join("\n"));

describe("lines of code", () => {
  test("are counted without blank lines and comments", () => {
    expect(count("// A file.", "", "/**", " * Adds.", " */", "const a = 1;", "  ", "/* one */", "a;", "")).toBe(2);
  });

  test("a line of code with a comment before, within or behind it counts once", () => {
    expect(count("/* before */ f();", "f(/* within */);", "f(); // behind", "f(); /* begins", "and ends */ f();")).toBe(
      5,
    );
  });

  test("imports, types and closing brackets count", () => {
    expect(count('import type { B } from "b";', "interface A {", "  b: B;", "}")).toBe(4);
  });

  test("text in a string that looks like a comment counts", () => {
    expect(count("const text = `", "// not a comment", "/* nor this", "`;", "f();")).toBe(5);
  });

  test("comments with other letters than English ones do not shift the count", () => {
    expect(count("// 10 µs – ÷ 𝛑", "f();", "/* ε", "𝛑 */", "g();")).toBe(2);
  });

  test("of nothing there are none", () => {
    expect(count("")).toBe(0);
  });

  test("of a file that does not parse they cannot be counted", () => {
    expect(() => count("const = ;")).toThrow(/^a\.ts: /);
  });
});
