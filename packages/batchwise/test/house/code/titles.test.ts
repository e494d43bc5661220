// Titles of tests use the words of comments: no phrase of `refusedPhrases`, and none that treats
// code as people.

import { expect, test } from "vitest";
import { titlesIn } from "../docs/references.ts";
import { filesMatching, textOf } from "../repository.ts";
import { refusedPhrases } from "./comments.ts";

/** Refused in titles besides the phrases of comments, as sources of regular expressions. */
const PEOPLES_WORDS = ["told", "tells?", "nobody", "somebody", "anybody", "everybody", "asks?", "asked", "a person"];

const REFUSED = new RegExp(`\\b(?:${[...refusedPhrases, ...PEOPLES_WORDS].join("|")})\\b`, "i");

/** One sentence for each title of the file that has a refused phrase. */
function refusedTitles(file: string, text: string): string[] {
  if (!REFUSED.test(text)) return [];
  return [...titlesIn(file, text)].filter((title) => REFUSED.test(title)).map((title) => `${file}: ${title}`);
}

test("a refused phrase is found in the title of a test, also below a describe", () => {
  const text = `describe("a batch", () => {\n  test("is told", () => {});\n  test("is called", () => expect("told"));\n});\n`;
  expect(refusedTitles("a.test.ts", text)).toEqual(["a.test.ts: is told", "a.test.ts: a batch is told"]);
});

test("no title in the repository has a refused phrase", () => {
  const files = filesMatching("{packages,bench,compat,examples,site}/**/*.test.ts");
  expect(files.length).toBeGreaterThan(600);
  expect(files.flatMap((file) => refusedTitles(file, textOf(file)))).toEqual([]);
});
