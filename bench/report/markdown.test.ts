import { expect, test } from "vitest";
import { renderReport, renderSection } from "./markdown.ts";
import type { Claim, Section } from "./section.ts";

const claim = (measured: number): Claim => ({ text: "an item", measured, sense: "at most", limit: 1, unit: "x" });
const sectionOf = (claims: readonly Claim[]): Section => ({ title: "W1", about: ["A load."], tables: [], claims });

const machine = {
  ...{ cpu: "a processor", cores: 2, memoryGb: 8, node: "v24.0.0", v8: "13.6" },
  ...{ commit: "abc1234", date: "2026-01-01", loadAverage: 0, versions: ["batchwise 0.1.0"] },
};

test("a section prints each ratio beside its limit and says how the target was met", () => {
  expect(renderSection(sectionOf([claim(0.71), claim(1.04), claim(1.06)])).split("\n")).toEqual([
    "## W1",
    "",
    "A load.",
    "",
    "| target  | limit          | measured | met              |",
    "|---------|----------------|----------|------------------|",
    "| an item | at most 1.00 x | 0.71 x   | yes              |",
    "| an item | at most 1.00 x | 1.04 x   | met (within 5 %) |",
    "| an item | at most 1.00 x | 1.06 x   | **no**           |",
  ]);
});

test("a target whose contender was left out has no figure and is not met", () => {
  expect(
    renderSection(sectionOf([claim(Number.NaN)]))
      .split("\n")
      .at(-1),
  ).toBe("| an item | at most 1.00 x | –        | **no** |");
});

test("a section without targets has no table of them", () => {
  expect(renderSection(sectionOf([]))).toBe("## W1\n\nA load.");
});

test("the head of a report counts a ratio within 5 % of its limit as met", () => {
  const report = renderReport(machine, 0, [sectionOf([claim(0.71), claim(1.04), claim(1.06)])], {
    title: "Benchmarks",
    about: ["Written by a test."],
  });
  expect(report).toMatch(/\| Targets met +\| 2 of 3 /);
});
