// Measures the effect of padding on the text that the model reads: node
// examples/text-lines/measure-padding.ts [lines]. 240 lines take a few minutes on two cores.

import type { Tensor } from "batchwise/tensor";
import { type DrawnLine, drawLines } from "./drawn-lines.ts";
import { pictureTensor } from "./line-picture.ts";
import { EQUAL_WIDTHS, type LineOptions, PADDED } from "./recogniser.ts";
import { ALONE, type Case, FULL, type Run, run } from "./run-lines.ts";

/**
 * Pads each line to its own multiple of 32, and lets only lines of the same padded width share a
 * batch.
 */
const EQUAL_PADDED: LineOptions = {
  padToMultipleOf: { x: [1, 1, 32] },
  key: ({ x }) => [...x.dims.slice(0, 3), Math.ceil((x.dims[3] ?? 0) / 32)].join("x"),
};

const READINGS: readonly Case[] = [
  { name: "kept width, alone", widthStep: 1, options: ALONE },
  { name: "kept width, arrival, padded grey", widthStep: 1, options: { ...PADDED, ...FULL, order: "fifo" } },
  { name: "the same, white", widthStep: 1, options: { ...PADDED, ...FULL, order: "fifo", padTokens: { x: 1 } } },
  { name: "the same, black", widthStep: 1, options: { ...PADDED, ...FULL, order: "fifo", padTokens: { x: -1 } } },
  { name: "kept width, by length, padded grey", widthStep: 1, options: { ...PADDED, ...FULL } },
  { name: "the same, white", widthStep: 1, options: { ...PADDED, ...FULL, padTokens: { x: 1 } } },
  { name: "the same, black", widthStep: 1, options: { ...PADDED, ...FULL, padTokens: { x: -1 } } },
  { name: "grey to 32, alone", widthStep: 1, options: { ...EQUAL_PADDED, ...ALONE } },
  { name: "grey to 32, equal widths", widthStep: 1, options: { ...EQUAL_PADDED, ...FULL } },
  { name: "stretched to 32, alone", widthStep: 32, options: { ...EQUAL_WIDTHS, ...ALONE } },
  { name: "stretched to 32, equal widths", widthStep: 32, options: { ...EQUAL_WIDTHS, ...FULL } },
];

/** Edits that turn one text into the other (Levenshtein). */
function edits(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [above, sign] of [...left].entries()) {
    const next = [above + 1];
    for (let at = 0; at < right.length; at += 1) {
      const replaced = (row[at] ?? 0) + (sign === right[at] ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

function describe(drawn: readonly DrawnLine[], { read, averageBatchSize, padding }: Run, alone: Run): string {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const wrong = sum(read.map(({ text }, index) => edits(drawn[index]?.text ?? "", text)));
  const wholly = read.filter(({ text }, index) => text === drawn[index]?.text).length;
  const other = read.filter(({ text }, index) => text !== alone.read[index]?.text).length;
  const shifts = read.map(({ confidence }, index) => Math.abs(confidence - (alone.read[index]?.confidence ?? 0)));
  const cells = [averageBatchSize.toFixed(1), `${Math.round(padding * 100)} %`, wrong, wholly, other];
  return [...cells, Math.max(...shifts).toFixed(3)].join(" | ");
}

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const drawn = await drawLines(Number(process.argv[2] ?? 240));
const signs = drawn.reduce((sum, { text }) => sum + text.length, 0);
const pictures = new Map<number, Tensor<"float32">[]>();
for (const widthStep of [1, 32]) {
  pictures.set(widthStep, await Promise.all(drawn.map(({ png }) => pictureTensor(png, { widthStep }))));
}

print(`${drawn.length} lines of ${signs} characters`);
print("| lines | a batch | padding | wrong characters | lines right | other text than alone | largest shift |");
print("|---|---|---|---|---|---|---|");
let alone: Run | undefined;
for (const reading of READINGS) {
  const result = await run(reading, pictures.get(reading.widthStep) ?? []);
  if (reading.options.maxBatchSize === 1) alone = result;
  print(`| ${reading.name} | ${describe(drawn, result, alone ?? result)} |`);
}
