// Searches a few notes by meaning, in this process: many callers embed one text each, and their
// texts share batches.

import { openEmbedder } from "batchwise/onnx";
import { demoModel } from "./demo-model.ts";

const notes = [
  "Water the tomatoes every evening in July.",
  "The train to Basel leaves from platform nine.",
  "A pinch of salt makes chocolate taste sweeter.",
  "Pay the electricity bill before the tenth.",
  "The tomatoes by the wall need more water than the beans.",
  "Sourdough bread rises for twelve hours in a cool room.",
  "Ask the dentist for an appointment in March.",
  "Trains on Sundays stop at every village.",
];
const questions = ["How much water do the tomatoes need?", "Which platform for the train to Basel?"];

// A folder with model.onnx (or onnx/model.onnx) and tokenizer.json, as sentence-transformers and
// optimum export it.
const [folder] = process.argv.slice(2);
await using embedder = await openEmbedder({ model: folder ?? (await demoModel()) });
for (const warning of embedder.warnings) process.stderr.write(`Warning: ${warning}\n`);

/** Called anywhere in a program with one text, by a caller that knows nothing about the others. */
async function embed(text: string): Promise<Float32Array> {
  const [vector] = await embedder.embed([text]);
  return vector as Float32Array;
}

/** The cosine of the angle between vectors of length 1. */
function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] as number), 0);
}

const vectors = await Promise.all(notes.map(embed));
for (const question of questions) {
  const asked = await embed(question);
  const ranked = notes
    .map((note, index) => ({ note, score: similarity(asked, vectors[index] as Float32Array) }))
    .sort((a, b) => b.score - a.score);
  process.stdout.write(`${question}\n`);
  for (const { note, score } of ranked.slice(0, 2)) process.stdout.write(`  ${score.toFixed(3)} ${note}\n`);
}
const { completed, batches } = embedder.batcher.stats();
process.stdout.write(`${completed} texts of ${embedder.model.dimensions} numbers in ${batches} batches\n`);
