// Reads pictures of text lines, all at once: node examples/text-lines/main.ts line-1.png line-2.png
// Without arguments it draws 40 lines and reads those. Prints each text, and what batching did.

import { readFile } from "node:fs/promises";
import { drawLines } from "./drawn-lines.ts";
import { pictureTensor } from "./line-picture.ts";
import { Recogniser } from "./recogniser.ts";

const DRAWN = 40;

const paths = process.argv.slice(2);
const pictures =
  paths.length > 0
    ? await Promise.all(paths.map(async (path) => ({ name: path, bytes: await readFile(path) })))
    : (await drawLines(DRAWN)).map(({ text, png }) => ({ name: text, bytes: png }));
const lines = await Promise.all(pictures.map(async ({ name, bytes }) => ({ name, x: await pictureTensor(bytes) })));

await using recogniser = await Recogniser.open();
// The first run of a model takes longer.
for (const { x } of lines.slice(0, 1)) await recogniser.read(x);

// One at a time, that is, without batching.
let began = performance.now();
for (const { x } of lines) await recogniser.read(x);
const alone = lines.length / (performance.now() - began);

recogniser.batcher.resetStats();
began = performance.now();
const texts = await Promise.all(lines.map(({ x }) => recogniser.read(x)));
const together = lines.length / (performance.now() - began);

for (const [index, { text, confidence }] of texts.entries()) {
  process.stdout.write(`${confidence.toFixed(3)}  ${lines[index]?.name}  ->  ${text}\n`);
}
const { batches, averageBatchSize, averageBatchCost } = recogniser.batcher.stats();
const elements = lines.reduce((sum, { x }) => sum + x.data.length, 0);
const padding = 1 - elements / (averageBatchCost * batches);
process.stdout.write(
  `${lines.length} lines in ${batches} batches of ${averageBatchSize.toFixed(1)}, ${Math.round(padding * 100)} % padding\n` +
    `${(together * 1000).toFixed(1)} lines a second together, ${(alone * 1000).toFixed(1)} one after the other\n`,
);
