import { describe, expect, test } from "vitest";
import { filesMatching, textOf } from "../repository.ts";
import { longComments, longestCode, longestProse, refusedPhrases, refusedWords } from "./comments.ts";

/** A sentence of this many columns. */
const words = (columns: number): string =>
  "word "
    .repeat(columns)
    .slice(0, columns - 1)
    .concat(".");
const docstring = (...lines: readonly string[]): string =>
  ["/**", ...lines.map((line) => ` * ${line}`), " */", ""].join("\n");
const example = (line: string): string => docstring("Adds.", "", "@example", "```ts", line, "```");

describe("the limit of columns", () => {
  test.each([
    ["a line comment", (line: string) => `// ${line}\n`, 3],
    ["an indented comment", (line: string) => `{\n    // ${line}\n}\n`, 7],
    ["a docstring", (line: string) => docstring(line), 3],
    ["a comment behind code", (line: string) => `add(1); // ${line}\n`, 11],
    ["a comment of SQL or Lua in a template", (line: string) => `const sql = \`\n  -- ${line}\n\`;\n`, 5],
  ])("%s at the limit passes, one column more does not", (_kind, wrap, before) => {
    expect(longComments("a.ts", wrap(words(longestProse - before)))).toEqual([]);
    expect(longComments("a.ts", wrap(words(longestProse - before + 1)))).toEqual([
      expect.stringMatching(`^a.ts:\\d ${longestProse + 1} columns$`),
    ]);
  });

  test("code of an example may be as long as code outside", () => {
    expect(longComments("a.ts", example(words(longestCode - 3)))).toEqual([]);
    expect(longComments("a.ts", example(words(longestCode - 2)))).toEqual([`a.ts:6 ${longestCode + 1} columns`]);
  });

  test("a line of one word, such as an address, has no limit", () => {
    expect(longComments("a.ts", `// https://example.com/${"a".repeat(200)}\n`)).toEqual([]);
  });

  test("text in a string is no comment", () => {
    expect(longComments("a.ts", `const text = "// ${words(120)}";\nconst more = \`\n// ${words(120)}\`;\n`)).toEqual(
      [],
    );
  });
});

describe("the refused phrases", () => {
  const [phrase = ""] = refusedPhrases;

  test("are found across a line break, and in any case of letters", () => {
    const [first, ...rest] = phrase.toUpperCase().split(" ");
    expect(refusedWords("a.ts", `add(1);\n// Arrays and ${first}\n// ${rest.join(" ")}.\n`)).toEqual([
      `a.ts:2 says "${phrase.toUpperCase()}"`,
    ]);
  });

  test("are found in comments of SQL and Lua in a template", () => {
    const [first, ...rest] = phrase.split(" ");
    expect(refusedWords("a.ts", `const lua = \`\n-- Sets and ${first}\n-- ${rest.join(" ")}.\n\`;\n`)).toEqual([
      `a.ts:2 says "${phrase}"`,
    ]);
  });

  test("include words that only comments avoid", () => {
    expect(refusedWords("a.ts", "// Told once.\n// Codes are told apart by their names.\n")).toEqual([
      'a.ts:1 says "Told"',
    ]);
  });

  test("may stand in the code of an example, in a string, and inside other words", () => {
    expect(refusedWords("a.ts", example(`add("${phrase}");`))).toEqual([]);
    expect(refusedWords("a.ts", `add("${phrase}"); // ${phrase}lihood\n`)).toEqual([]);
  });
});

test("the comments of the repository are within the limits and have no refused phrase", () => {
  const files = filesMatching("*.ts", "{packages,bench,compat,examples,scripts,site}/**/*.ts");
  expect(files.length).toBeGreaterThan(1_000);
  const found = files.flatMap((file) => {
    const text = textOf(file);
    return [...longComments(file, text), ...refusedWords(file, text)];
  });
  expect(found).toEqual([]);
});
