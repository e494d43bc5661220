// Measures what batching does to lines a second: node examples/text-lines/measure-rates.ts [lines]
// [rounds]. The cases run in turn, round by round, so that what else the machine does falls on all
// of them.

import { drawLines } from "./drawn-lines.ts";
import { pictureTensor } from "./line-picture.ts";
import { EQUAL_WIDTHS, PADDED } from "./recogniser.ts";
import { ALONE, type Case, FULL, type Run, run } from "./run-lines.ts";

const RATES: readonly Case[] = [
  { name: "batching off", widthStep: 32, options: ALONE },
  { name: "equal widths, learned (the example)", widthStep: 32, options: EQUAL_WIDTHS },
  { name: "equal widths, up to 16", widthStep: 32, options: { ...EQUAL_WIDTHS, ...FULL } },
  { name: "any width by length, learned", widthStep: 1, options: PADDED },
  { name: "any width in arrival order, 16", widthStep: 1, options: { ...PADDED, ...FULL, order: "fifo" } },
];

const [count = 120, rounds = 3] = process.argv.slice(2).map(Number);
const drawn = await drawLines(count);
const measured = RATES.map((rate) => ({ rate, runs: [] as Run[] }));
for (let round = 0; round < rounds; round += 1) {
  for (const { rate, runs } of measured) {
    const lines = await Promise.all(drawn.map(({ png }) => pictureTensor(png, rate)));
    runs.push(await run(rate, lines));
  }
}
process.stdout.write(
  "| lines | a second | CPU ms a line | least to most | a batch | padding |\n|---|---|---|---|---|---|\n",
);
for (const { rate, runs } of measured) {
  const cpu = sorted(runs.map(({ cpuMsPerLine }) => cpuMsPerLine));
  const { averageBatchSize: size = 0, padding = 0 } = runs.at(-1) ?? {};
  const cells = [
    median(runs.map(({ perSecond }) => perSecond)),
    median(cpu),
    `${cpu[0]?.toFixed(1)} to ${cpu.at(-1)?.toFixed(1)}`,
    size.toFixed(1),
  ];
  process.stdout.write(`| ${rate.name} | ${cells.join(" | ")} | ${Math.round(padding * 100)} % |\n`);
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((left, right) => left - right);
}

function median(values: readonly number[]): string {
  return (sorted(values)[Math.floor(values.length / 2)] ?? 0).toFixed(1);
}
