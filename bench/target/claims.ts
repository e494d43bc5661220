/** The claims about the latency target: its limits and the measured values. */
import type { Claim } from "../report/section.ts";
import type { Cell } from "./cells.ts";
import type { Row } from "./conditions.ts";
import type { Results } from "./measure.ts";

const meanOf = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
export const mean = <One>(all: readonly One[], of: (one: One) => number): number => meanOf(all.map(of));
const least = <One>(all: readonly One[], of: (one: One) => number): number => Math.min(...all.map(of));
const most = <One>(all: readonly One[], of: (one: One) => number): number => Math.max(...all.map(of));

export const againstBest = ({ goodput, bestGoodput }: Cell): number => goodput / bestGoodput;
export const againstBound = ({ goodput, bound }: Cell): number => goodput / bound;
const p99Of = ({ p99 }: Cell): number => p99;
const against = ({ goodput, other }: Row): number => goodput / other;

/** Shares as percentages: a figure that does not depend on the machine has no tolerance. */
const atLeast = (text: string, measured: number, limit: number): Claim => {
  return { text, measured: 100 * measured, sense: "at least", limit: 100 * limit, unit: "%" };
};
const atMost = (text: string, measured: number, limit: number): Claim => {
  return { text, measured: 100 * measured, sense: "at most", limit: 100 * limit, unit: "%" };
};

export function cellClaims({ tuned: { cells, singleGoodput }, unseen }: Results): Claim[] {
  const steps = cells.filter(({ service }) => service.shape.kind !== "line");
  const lines = cells.filter(({ service }) => service.shape.kind === "line");
  const overloaded = cells.filter(({ kind, load }) => kind === "poisson" && load > 1);
  const twice = [...cells, ...unseen.cells].filter(({ load }) => load === 2);
  const goodput = mean(cells, (cell) => cell.goodput);
  return [
    atMost("p99 of what is answered ÷ target, worst of the 60 cells", most(cells, p99Of), 1.05),
    atMost("… worst of the 20 cells of services that were not tuned on", most(unseen.cells, p99Of), 1.05),
    atLeast("goodput ÷ best static setting of that cell, mean", mean(cells, againstBest), 1),
    atLeast("… worst cell of the four lines", least(lines, againstBest), 0.95),
    atLeast("… worst cell of the two others", least(steps, againstBest), 0.9),
    atLeast("… mean of the two services that were not tuned on", mean(unseen.cells, againstBest), 0.98),
    atLeast("mean goodput ÷ single static setting that is best over all cells", goodput / singleGoodput, 1.08),
    atLeast("Poisson in overload, goodput ÷ most that can be reached, worst", least(overloaded, againstBound), 0.9),
    atLeast("… mean", mean(overloaded, againstBound), 0.93),
    atLeast("mean goodput ÷ timeouts alone", goodput / mean(cells, (cell) => cell.timeouts), 1),
    atLeast("mean goodput ÷ AIMD", goodput / mean(cells, (cell) => cell.aimd), 1),
    atLeast("mean goodput ÷ BentoML's rule", goodput / mean(cells, (cell) => cell.bentoml), 1),
    atMost(
      "time to a refusal ÷ target, at twice the load, mean",
      mean(twice, (cell) => cell.refusedAfter),
      0.3,
    ),
  ];
}

export function otherClaims({ slower, bunches, slots, coldStart, models, optimum }: Results): Claim[] {
  const smooth = slots.filter(({ service }) => service.shape.kind === "line" && !service.name.includes("tight"));
  const latency = optimum.map(({ meanMs, leastMs }) => meanMs / leastMs);
  return [
    atLeast("1.6 x slower for a quarter, goodput ÷ the settings tuned before, mean", mean(slower, against), 1),
    atLeast("bunches of 8, goodput ÷ the rule with known times, mean", mean(bunches, against), 0.97),
    atLeast(
      "4, 8, 16 slots at 0.8 of the capacity, goodput, worst line that is not tight",
      least(smooth, against),
      0.94,
    ),
    atLeast(
      "cold start at 1.5 x, goodput of the first 2 s ÷ most that can be reached, worst",
      least(coldStart, against),
      0.85,
    ),
    atMost(
      "learned run times, error after 100 batches, worst",
      most(models, (one) => one.learned),
      0.05,
    ),
    atMost(
      "… 15 batches after the handler became 2 x slower",
      most(models, (one) => one.changed),
      0.1,
    ),
    atMost("no target, loads 0.05 to 0.8, mean latency ÷ exact optimum, worst", Math.max(...latency), 1.02),
    atLeast("… least", Math.min(...latency), 0.98),
  ];
}
