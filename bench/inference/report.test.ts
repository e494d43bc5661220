import { expect, test } from "vitest";
import type { CellResult } from "./measure-cell.ts";
import { DEFAULTS, OFF } from "./plan.ts";
import { sectionsOf, withReport } from "./report.ts";
import type { Stamp } from "./results.ts";
import type { RoundFigures } from "./turns.ts";

const figures = (perSecond: number, p99Ms: number): RoundFigures[] => [
  { perSecond, p50Ms: 1, p99Ms, loopDelayP99Ms: 3, rows: 4, cost: 100, cpuMs: 5 },
];
const stamp: Stamp = { commit: "abc1234", date: "2026-01-01", loadAverage: 0, stolen: 0 };
const cell: CellResult & Stamp = {
  rounds: { [DEFAULTS]: figures(300, 90), [OFF]: figures(200, 100), other: figures(250, 100), peer: figures(150, 200) },
  grid: [{ name: "other", perSecond: 250 }],
  winner: "other",
  python: [],
  peers: [],
  settledAfterS: 2,
  ...stamp,
};

test("each target of a cell has what was measured, beside its limit", () => {
  const sections = sectionsOf({ cells: { "minilm/64/mixed": cell }, ablations: {} });
  const claims = sections
    .flatMap((section) => section.claims)
    .map(({ measured, sense, limit }) => [measured, sense, limit]);
  expect(claims).toEqual([
    [1.5, "at least", 1.25],
    [0.9, "at most", 1.05],
    [3, "below", 20],
    [1.2, "at least", 0.97],
    [1.2, "at least", 0.93],
  ]);
});

test("without FastAPI and without an ablation their sections are left out", () => {
  const titles = sectionsOf({ cells: { "minilm/64/mixed": cell }, ablations: {} }).map(({ title }) => title);
  expect(titles).toEqual([`The defaults against ${OFF}`, "The defaults against the best fixed setting"]);
});

test("FastAPI has its targets where it was measured", () => {
  const python = { python: [{ name: "peer", perSecond: 150 }], peers: ["peer"] };
  const sections = sectionsOf({ cells: { "minilm/64/mixed": { ...cell, ...python } }, ablations: {} });
  expect(sections.at(-1)?.claims).toMatchObject([{ measured: 2, sense: "at least", limit: 1.4 }]);
});

test("a report takes the place of the one before it, and leaves the rest of the page alone", () => {
  const page = "# A page\n\n<!-- bench:begin -->\n\nold\n\n<!-- bench:end -->\n\nThe end.\n";
  const expected = "# A page\n\n<!-- bench:begin -->\n\nnew\n\n<!-- bench:end -->\n\nThe end.\n";
  expect(withReport(page, "new\n")).toBe(expected);
  expect(withReport(withReport(page, "other"), "new")).toBe(expected);
});

test("a page without marks is refused", () => {
  expect(() => withReport("# A page\n", "new")).toThrow("Expected the page to have <!-- bench:begin -->");
});
