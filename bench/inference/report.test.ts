import { expect, test } from "vitest";
import type { Machine } from "../harness/machine.ts";
import type { BoundLooks } from "./bound-figures.ts";
import type { CellResult } from "./measure-cell.ts";
import { DEFAULTS, OFF } from "./plan.ts";
import { renderResults, sectionsOf, withReport } from "./report.ts";
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

test("each target of a cell has its measured value, beside its limit", () => {
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

const bound: BoundLooks = {
  ...{ workers: 2, texts: 100, tokens: 12 },
  probes: [
    { tokens: 10, ms: 2.2 },
    { tokens: 20, ms: 3.2 },
  ],
  looked: [{ name: "8 rows, 128 tokens", perSecond: 330, rows: 7.5, cost: 99 }],
};
const model = (alone: number, best: number): CellResult["rounds"] => ({
  "the model, each text alone": figures(alone, Number.NaN),
  "the model, 8 rows, 128 tokens": figures(best, Number.NaN),
});
const bounded = (alone: number, best: number): CellResult & Stamp => ({
  ...{ ...cell, bound, python: [{ name: "peer", perSecond: 150 }], peers: ["peer"] },
  rounds: { ...cell.rounds, ...model(alone, best), peer: figures(250, 200) },
});
const machine = { cpu: "a processor", cores: 2, memoryGb: 8, node: "v24" } as Machine;
const reportOf = (result: CellResult & Stamp): string =>
  renderResults({ cells: { "minilm/64/short": result }, ablations: {} }, machine, false).replace(/ +/g, " ");

test("a target that the model alone misses too is missed still, and what the model gives stands beside it", () => {
  const report = reportOf(bounded(220, 341));
  expect(report).toContain(
    "at least 2.00 x | 1.50 x | 1.71 x | 88 % | **no** (the model alone, in the best batches, gives 1.71 x here) |",
  );
  expect(report).toContain(
    "at least 2.30 x | 1.20 x | 1.36 x | 88 % | **no** (the model alone, in the best batches, gives 1.36 x here) |",
  );
  expect(report).toContain("| Targets missed that the model alone misses too, in the best batches | 2 |");
});

test("a target that the model alone meets is simply missed", () => {
  const report = reportOf(bounded(300, 660));
  expect(report).toContain("at least 2.00 x | 1.50 x | 3.30 x | 45 % | **no** |");
  expect(report).toContain("at least 2.30 x | 1.20 x | 2.64 x | 45 % | **no** |");
  expect(report).not.toContain("Targets missed that");
});

test("the model alone has a row with its best batches, the cost of a call, and how near the services come", () => {
  expect(reportOf(bounded(250, 400))).toContain(
    "| minilm/64/short | 12.0 | 250 | 400 | 1.60 x | 7.50 / 99.0 | 1.20 | 0.100 | 12.0 | 80 % | 75 % | 2.00 x |",
  );
});

test("without the model alone there is no such section, and targets are as they were", () => {
  const report = reportOf({ ...cell });
  expect(report).not.toContain("the model alone");
  expect(report).toContain("| target | limit | measured | met |");
});

test("a report replaces the one before it, and does not change the rest of the page", () => {
  const page = "# A page\n\n<!-- bench:begin -->\n\nold\n\n<!-- bench:end -->\n\nThe end.\n";
  const expected = "# A page\n\n<!-- bench:begin -->\n\nnew\n\n<!-- bench:end -->\n\nThe end.\n";
  expect(withReport(page, "new\n")).toBe(expected);
  expect(withReport(withReport(page, "other"), "new")).toBe(expected);
});

test("a page without marks is refused", () => {
  expect(() => withReport("# A page\n", "new")).toThrow("Expected the page to have <!-- bench:begin -->");
});
