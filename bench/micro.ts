/**
 * The cost per call of pure functions: the engine's decisions, and the dispatcher's lines and
 * names. For work on one of them; no target depends on these figures.
 *
 *   npm run bench:micro                              all of them
 *   npm run bench:micro -- pack                      those whose name has this
 *   npm run bench:micro -- --processes 9 --ms 300    more processes of each, each for less time
 *
 * Each function runs in several processes of its own, in a shuffled order, and the figure is the
 * median over its processes: in one process, a function that ran before changes the cost of the
 * next.
 *
 * It measures the sources, because the functions are not public. Nothing has to be built.
 */
import { parseArgs } from "node:util";
import { median } from "./harness/numbers.ts";
import { runRounds, valuesOf } from "./harness/rounds.ts";
import { pureFunctionNames } from "./pure/pure-functions.ts";

const { positionals, values: flags } = parseArgs({
  allowPositionals: true,
  options: { processes: { type: "string", default: "5" }, ms: { type: "string", default: "600" } },
});

/** The value of a flag. Throws unless it is a whole number >= 1. */
function positive(name: "processes" | "ms"): number {
  const value = Number(flags[name]);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new RangeError(`Expected \`--${name}\` to be an integer >= 1, got \`${flags[name]}\``);
}

const [part = ""] = positionals;
const contenders = pureFunctionNames.filter((name) => name.includes(part));
if (contenders.length === 0) {
  throw new RangeError(`Expected a part of one of these names, got \`${part}\`: ${pureFunctionNames.join(", ")}`);
}
const plan = { workload: "pure", contenders, rounds: positive("processes"), settings: { ms: positive("ms") } };
const results = await runRounds(plan, (line) => process.stderr.write(`${line}\n`));
const widest = Math.max(...contenders.map((name) => name.length));
const figure = (ns: number): string => ns.toFixed(ns < 100 ? 1 : 0).padStart(10);
process.stdout.write(`${"median of the processes, ns a call".padEnd(widest)}    median   fastest   slowest\n`);
for (const name of contenders) {
  const all = valuesOf(results, name, "ns");
  const figures = [median(all), Math.min(...all), Math.max(...all)].map(figure);
  process.stdout.write(`${name.padEnd(widest)}${figures.join("")}\n`);
}
