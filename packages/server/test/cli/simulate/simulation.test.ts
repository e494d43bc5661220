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
    [{ arrivals: { kind: "times", atMs: 5 } }, "Expected `arrivals.atMs` to be an array of at least one"],
    [{ arrivals: { kind: "curve", points: [[0, 1], [2]] } }, "Expected `arrivals.points[1]` to be a pair of numbers"],
    [{ arrivals: { kind: "closed", callers: "x" } }, "Expected `arrivals.callers` to be an integer >= 1, got `x`"],
    [{ arrivals: { kind: "poisson" } }, "Expected `arrivals.perSecond` to be a finite number > 0, got `undefined`"],
    [{ service: { kind: "line", fixedMs: 0, itemMs: 0 } }, "A call takes no time, so there is no most"],
  ])("of %j is refused by the name of the wrong part", async (given, message) => {
    await expect(run(given as never)).rejects.toThrow(message);
    await expect(run(given as never)).rejects.toMatchObject({ exitCode: 2 });
  });

  test.each([
    ["{", "Expected a.json to be JSON"],
    ["[]", "to hold an object"],
    ['{"servce":{}}', "Unknown field `servce`"],
    ['{"loads":[0]}', "a list of numbers > 0"],
    ['{"options":5}', "Expected `options` in a.json to be an object"],
    ['{"arrivals":"poisson"}', "Expected `arrivals` in a.json to be an object"],
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

describe("what a simulation prints", () => {
  test("plays a whole list of times at each load, in less time where the load is higher", async () => {
    const atMs = [0, 1, 2, 3, 50, 51, 900, 5_000];
    const { durationMs: _, ...short } = SHORT;
    const simulation = await run({ ...short, arrivals: { kind: "times", atMs } });
    const reports = simulation.sweeps.flatMap(({ points }) => points.map(({ report }) => report));
    expect(reports.map(({ offered, durationMs }) => [offered, durationMs])).toEqual([
      [8, 10_002],
      [8, 2_500.5],
    ]);
    expect(reportOf(simulation).join("\n")).toContain("5 s of virtual time at load 1");
  });

  test("claims no bound where callers wait for answers, and more is served than if they did not", async () => {
    const service = {
      kind: "table",
      points: [
        [1, 12],
        [8, 15],
        [64, 60],
      ],
    } as const;
    const arrivals = { kind: "closed", callers: 50 } as const;
    const options = { targetLatencyMs: 50 };
    const simulation = await run({ ...SHORT, service, arrivals, options, targetMs: 50 });
    const reports = simulation.sweeps.flatMap(({ points }) => points.map(({ report }) => report));
    expect(reports.some(({ goodput, bound }) => goodput > bound.goodput)).toBe(true);
    const printed = reportOf(simulation).join("\n");
    expect(printed).toContain("50 callers who wait for each answer.");
    expect(printed).not.toContain("at most");
    expect(pageOf(simulation)).not.toContain("the most that can be");
  });

  test("has no figures of a load at which no item came", async () => {
    const simulation = await run({ ...SHORT, durationMs: 100, loads: [1e-5] });
    const printed = reportOf(simulation).join("\n");
    expect(printed).toContain("No item is counted at load 0.00001: name more --seconds.");
    expect(printed).not.toMatch(/in time: 0 %|At each load|--compare/);
    expect(pageOf(simulation)).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("names stalls, changes, failures and callers who try again", async () => {
    const troubles = {
      stalls: { share: 0.01, factor: 20 },
      changes: [{ fromMs: 1_000, toMs: 1_500, factor: 2 }],
      failures: { share: 0.02, above: 500 },
    };
    const arrivals = { kind: "closed", callers: 2, thinkMs: 20 };
    const troubled = { ...SHORT.service, ...troubles };
    const given = { ...SHORT, arrivals, service: troubled, attempts: 3, loads: [1] } as ScenarioFile;
    const [service, callers, attempts] = reportOf(await run(given));
    expect(service).toBe(
      "Service: a call takes 10 ms and 0.5 ms an item; from 1 s to 1.5 s calls take 2 times as long; " +
        "1 % of the calls take 20 times as long; 2 % of the calls fail; calls that cost more than 500 fail.",
    );
    expect(callers).toBe("Arrivals at load 1: 2 callers who wait for each answer and then think 20 ms.");
    expect(attempts).toBe("A caller who is refused tries up to 3 times.");
  });

  test("warns of a target that is shorter than a run, on the page too", async () => {
    const arrivals = { kind: "poisson", perSecond: 3 } as const;
    const given = { ...SHORT, arrivals, options: { targetLatencyMs: 5 }, durationMs: 30_000, loads: [1] };
    const simulation = await run(given);
    const warning = "`targetLatencyMs` 5 is shorter than a run of one item";
    expect(reportOf(simulation).join("\n")).toContain(warning);
    expect(pageOf(simulation)).toContain(warning);
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
