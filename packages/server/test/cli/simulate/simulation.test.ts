// `batchwise simulate` from a scenario to what it prints, without a process.

import { describe, expect, test } from "vitest";
import { textOf } from "../../../../batchwise/test/house/repository.ts";
import { drawChart } from "../../../src/cli/simulate/chart.ts";
import { pageOf } from "../../../src/cli/simulate/page.ts";
import { arrivalsAt, parseScenario, type ScenarioFile } from "../../../src/cli/simulate/scenario.ts";
import { type Simulation, sweepAll } from "../../../src/cli/simulate/sweep.ts";
import { reportOf } from "../../../src/cli/simulate/words.ts";

const run = (given: ScenarioFile): Promise<Simulation> => sweepAll(given, () => {});
const blocks = (kind: string): string[] =>
  [...textOf("docs/simulate.md").matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, text = ""]) => text,
  );

const SHORT: ScenarioFile = {
  service: { kind: "line", fixedMs: 10, itemMs: 0.5 },
  targetMs: 100,
  durationMs: 2_000,
  loads: [0.5, 2],
};

describe("docs/simulate.md", () => {
  test("shows the output of `batchwise simulate`", async () => {
    // A change of the engine may change the last digits.
    const withoutNumbers = (text = ""): string => text.replace(/[\d.,]*\d/g, "#").replace(/ +/g, " ");
    expect(withoutNumbers(`${reportOf(await run({})).join("\n")}\n`)).toBe(withoutNumbers(blocks("text")[0]));
  });

  test("has a scenario file that runs, with both sets of options", async () => {
    const scenario = parseScenario(blocks("json")[0] as string, "scenario.json");
    const { sweeps } = await run({ ...scenario, durationMs: 500 });
    expect(sweeps.map(({ points }) => points.map(({ load }) => load))).toEqual([
      [0.5, 1, 2],
      [0.5, 1, 2],
    ]);
  });
});

describe("a simulation", () => {
  test("has the arrivals that can be served at load 1, and twice as many at load 2", async () => {
    const { scenario, sweeps } = await run(SHORT);
    expect(scenario.arrivals).toEqual({ kind: "poisson", perSecond: 1_600 });
    const offered = sweeps[0]?.points.map(({ report }) => report.offeredPerSecond) ?? [];
    expect((offered[1] as number) / (offered[0] as number)).toBeCloseTo(4, 0);
  });

  test("predicts the effect of a target, and shows both beside each other on one page", async () => {
    expect(reportOf(await run(SHORT)).at(-1)).toContain("--compare target-latency-ms=100");
    const compared = await run({ ...SHORT, compare: { targetLatencyMs: 100 } });
    expect(reportOf(compared).join("\n")).toMatch(/Batcher: defaults[\s\S]*Batcher: targetLatencyMs 100/);
    const page = pageOf(compared);
    expect(page.match(/<svg viewBox="0 0 560/g)).toHaveLength(4);
    expect(page).toContain("latency (ms, logarithmic)");
    expect(page).toContain("prefers-color-scheme: dark");
    expect(page).not.toMatch(/<script|https?:|src=|@import|url\(/);
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("refuses a target that no item can keep", async () => {
    const late = run({ service: { kind: "line", fixedMs: 80, itemMs: 1 }, targetMs: 100 });
    await expect(late).rejects.toThrow("No item can be answered within 100 ms");
  });

  test.each([
    [{ arrivals: { kind: "poisson", perSecond: -1 } }, "Expected `arrivals.perSecond` to be a finite number > 0"],
    [{ options: { maxBatchSiez: 3 } }, "maxBatchSiez"],
    [{ service: { kind: "line", fixedMs: 1 } }, "service.itemMs"],
  ])("of %j is refused by the name of the wrong part", async (given, message) => {
    await expect(run(given as never)).rejects.toThrow(message);
    await expect(run(given as never)).rejects.toMatchObject({ exitCode: 2 });
  });

  test.each([
    ["{", "Expected a.json to be JSON"],
    ["[]", "to hold an object"],
    ['{"servce":{}}', "Unknown field `servce`"],
    ['{"loads":[0]}', "a list of numbers > 0"],
  ])("of a file with %s is refused", (text, message) => {
    expect(() => parseScenario(text, "a.json")).toThrow(message);
  });

  test.each([
    [
      { kind: "bunches", perSecond: 10, size: 4 },
      { kind: "bunches", perSecond: 20, size: 4 },
    ],
    [
      { kind: "curve", points: [[0, 1]] },
      { kind: "curve", points: [[0, 2]] },
    ],
    [
      { kind: "times", atMs: [0, 4] },
      { kind: "times", atMs: [0, 2] },
    ],
    [
      { kind: "closed", callers: 3 },
      { kind: "closed", callers: 6 },
    ],
  ] as const)("at twice the load of %j has %j", (arrivals, expected) => {
    expect(arrivalsAt(arrivals as never, 2)).toEqual(expected);
  });
});

test("a chart without any variation, or with zeros on a logarithmic axis, has finite places", () => {
  const flat = [
    {
      name: "<a>",
      color: "first",
      points: [
        [1, 0],
        [1, 0],
      ],
    },
  ] as const;
  const chart = { title: "t", xTitle: "x", yTitle: "y", lines: flat };
  for (const isLog of [false, true]) expect(drawChart({ ...chart, isLog })).not.toMatch(/NaN|Infinity/);
  expect(drawChart(chart)).not.toContain("<a>");
});
