import { describe, expect, test } from "vitest";
import { filesMatching, textOf } from "../../../packages/batchwise/test/house/repository.ts";
import { blocksOf, sections } from "../recipes.ts";

const tests = filesMatching("compat/frameworks/test/**/*.test.ts").map(textOf).join("");

describe.each([...sections])("the recipe %s", (heading, text) => {
  test("is executed: as it stands, or by a test that imports it", () => {
    const runsAlone = blocksOf(heading).every((block) => block.runsAlone);
    const imported = [...tests.matchAll(/(?:importRecipe<\w+>|writeRecipe)\("(.+?)"/g)].map(([, name]) => name);
    expect(runsAlone || imported.includes(heading)).toBe(true);
  });

  test("has at most 30 lines of TypeScript, and its first sentence comes before them", () => {
    const blocks = blocksOf(heading).filter(({ file }) => !file.endsWith(".prisma"));
    expect(blocks.map(({ code }) => code.trimEnd().split("\n").length).reduce((a, b) => a + b)).toBeLessThanOrEqual(30);
    expect(text).toMatch(/^.+\n\n[A-Z]/);
  });
});
