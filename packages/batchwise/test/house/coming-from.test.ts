import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { referencesIn, rowsIn, titlesIn } from "./references.ts";
import { root, textOf } from "./repository.ts";

const pages = ["docs/coming-from.md", "docs/dispatch-guarantees.md", "docs/guarantees.md"];

/** A row either shows a test, or names the entry it waits for, or says why there is no such thing here. */
const answers = /` › .|^Waits for the (?:threads|tensor|metrics) entry|^Not taken over: .{20}/;

describe("a page that names tests", () => {
  const page = [
    "| theirs | shown by |",
    "|---|---|",
    "| `a` | `core/waits` › a full batch goes; `server/http/app` › `x` is fine |",
    "",
    "- A promise. `core/batch` › keeps it",
  ].join("\n");

  test("has its references read by file and title, in tables and in lists", () => {
    expect(referencesIn(page)).toEqual([
      { file: "packages/batchwise/test/core/waits.test.ts", title: "a full batch goes" },
      { file: "packages/server/test/http/app.test.ts", title: "`x` is fine" },
      { file: "packages/batchwise/test/core/batch.test.ts", title: "keeps it" },
    ]);
  });

  test("has its rows read without the head", () => {
    expect(rowsIn(page).map((cells) => cells.length)).toEqual([2]);
  });

  test("may name a test with or without the titles around it", () => {
    const text = `describe("a", () => { describe("b", () => { test.each([1])("c", () => {}); }); }); test(\`d \${1}\`, () => {});`;
    expect([...titlesIn("x.test.ts", text)]).toEqual(["c", "a b c", "b c", "d …"]);
  });
});

describe.each(pages)("%s", (page) => {
  const references = referencesIn(textOf(page));

  test("names tests that exist, by their exact titles", () => {
    expect(references.length).toBeGreaterThan(10);
    const titles = new Map<string, Set<string>>();
    const missing = references.filter(({ file, title }) => {
      if (!titles.has(file)) titles.set(file, existsSync(root + file) ? titlesIn(file, textOf(file)) : new Set());
      return !titles.get(file)?.has(title);
    });
    expect(missing).toEqual([]);
  });

  test("answers every row with a test, a later entry or a reason", () => {
    expect(rowsIn(textOf(page)).filter((cells) => !answers.test(cells.at(-1) ?? ""))).toEqual([]);
  });
});
