import { describe, expect, test } from "vitest";
import { filesMatching, textOf } from "../repository.ts";
import { missingOf, referencesIn, rowsIn, titlesIn } from "./references.ts";

/** The tests that show a promise or a row, by its text. */
type Proofs = Readonly<Record<string, readonly string[]>>;

/** The pages for users of another library whose proofs are in a separate file, by row. */
const moves = filesMatching("docs/coming-from/*.md").filter((page) => page !== "docs/coming-from/langbatch.md");
const proofs = proofsOf("coming-from") as Readonly<Record<string, Proofs>>;

/** A row is shown by a test, or says why there is no such thing here. */
const unproven = /^not taken over: .{20}/;

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

function proofsOf(page: string): unknown {
  return JSON.parse(textOf(`packages/batchwise/test/house/proofs/${page}.json`));
}

describe.each(["docs/coming-from.md", ...moves])("%s", (page) => {
  const name = page === "docs/coming-from.md" ? "index" : page.slice("docs/coming-from/".length, -".md".length);
  const proofsOfRow = proofs[name] ?? {};
  const rows = rowsIn(textOf(page)).filter(([first = ""]) => !first.startsWith("["));

  test("has a proof for each row, or a reason", () => {
    const open = rows.filter(([theirs = "", ours = ""]) => proofsOfRow[theirs] === undefined && !unproven.test(ours));
    expect(open).toEqual([]);
    expect(rows.length).toBeGreaterThan(5);
  });

  test("has a row for each proof", () => {
    const theirs = rows.map(([first]) => first);
    expect(Object.keys(proofsOfRow).filter((row) => !theirs.includes(row))).toEqual([]);
  });

  test("is proved by tests that exist, by their exact titles", () => expectTests(proofsOfRow));
});

function expectTests(shown: Proofs): void {
  const named = Object.values(shown).flat();
  const references = named.flatMap((proof) => referencesIn(proof));
  expect(references.length).toBe(named.length);
  expect(missingOf(references)).toEqual([]);
}

describe.each(["guarantees", "dispatch-guarantees"])("docs/%s.md", (name) => {
  const shown = proofsOf(name) as Proofs;
  const page = textOf(`docs/${name}.md`);
  const promised = page.replace(/^## What is not promised\n[\s\S]*?(?=^## |$(?![\s\S]))/m, "");
  const promises = [...promised.matchAll(/^- (?<text>.+(?:\n {2}.+)*)/gm)].map(({ groups }) =>
    (groups?.text ?? "").replaceAll(/\n */g, " "),
  );

  test("has a proof for each promise and each row", () => {
    const rows = rowsIn(promised).map(([row = ""]) => row);
    expect([...promises, ...rows].sort()).toEqual(Object.keys(shown).sort());
    expect(Object.values(shown).filter((tests) => tests.length === 0)).toEqual([]);
    expect(promises.length).toBeGreaterThan(60);
  });

  test("is proved by tests that exist, by their exact titles", () => {
    expectTests(shown);
    expect(missingOf(referencesIn(page))).toEqual([]);
  });
});

test("each page of a move opens with its three traps, and the index names it", () => {
  const index = textOf("docs/coming-from.md");
  for (const page of [...moves, "docs/coming-from/langbatch.md"]) {
    const [, opening = ""] = textOf(page).split("\n\n");
    expect(opening, page).toBe("Three traps of this move:");
    expect([...textOf(page).matchAll(/^\d\. \*\*/gm)].length, page).toBe(3);
    expect(index).toContain(`](${page.slice("docs/".length)})`);
  }
});
