// Many callers classify sentences, one sentence at a time each. Their sentences share batches, and
// each batch is one call of a pipeline of @huggingface/transformers in a worker thread. Pass the
// folder of a text classification model as the first argument; without it the program writes a
// small one.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type BatchFunction, batch } from "batchwise";
import { pipelineCost } from "batchwise/onnx";
import { threadHandler } from "batchwise/threads";
import type { Label } from "./classify-handler.ts";
import { BLAME, PRAISE, THINGS, writeModelFolder } from "./model-folder.ts";

const CALLERS = 64;
const SENTENCES = 20;

type Classify = BatchFunction<string, Label>;

const scratch = await mkdtemp(join(tmpdir(), "batchwise-classification-"));
try {
  const given = process.argv[2];
  const folder = given === undefined ? join(scratch, "sentiment") : resolve(given);
  if (given === undefined) await writeModelFolder(folder);

  const handler = threadHandler<string, Label>(new URL("./classify-handler.ts", import.meta.url), {
    workers: 1,
    workerOptions: { workerData: { folder } },
  });
  // Sentences of similar length share a batch. Characters serve as the length, because the
  // tokenizer is in the thread.
  await using classify = batch(handler, {
    cost: pipelineCost(),
    batchCost: "padded",
    order: "length",
    maxBatchCost: "learn",
  });
  await classify.open();
  for (const sentence of ["The soup was cold.", "The view was lovely and the train was quick."]) {
    const { label, score } = await classify(sentence);
    process.stdout.write(`${label} ${score.toFixed(2)}: ${sentence}\n`);
  }

  const alone = await timeOf(classify, { oneByOne: true });
  const together = await timeOf(classify, { oneByOne: false });
  const { averageBatchSize, batchSize, batches, completed } = classify.stats();
  process.stdout.write(`${completed} sentences in ${batches} batches: ${averageBatchSize.toFixed(1)} on average, `);
  process.stdout.write(`${batchSize.max} at most\n`);
  process.stdout.write(`one by one ${alone.toFixed(0)} ms, in batches ${together.toFixed(0)} ms: `);
  process.stdout.write(`${(alone / together).toFixed(1)} times as fast\n`);
} finally {
  await rm(scratch, { recursive: true, force: true });
}

/** Time of all callers, which submit at the same time. One by one: without batching. */
async function timeOf(classify: Classify, { oneByOne }: { oneByOne: boolean }): Promise<number> {
  classify.configure({ maxBatchSize: oneByOne ? 1 : 64 });
  classify.resetStats();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number, classify)));
  return performance.now() - startedAt;
}

async function caller(number: number, classify: Classify): Promise<void> {
  for (let turn = 0; turn < SENTENCES; turn += 1) {
    const isPraise = (number + turn) % 2 === 0;
    const { label } = await classify(sentenceOf(number * SENTENCES + turn, isPraise ? PRAISE : BLAME));
    if (process.argv[2] === undefined && label !== (isPraise ? "POSITIVE" : "NEGATIVE")) {
      throw new Error(`Caller ${number} got another's answer`);
    }
  }
}

/** A sentence of one to six clauses. */
function sentenceOf(seed: number, words: readonly string[]): string {
  const clauses = Array.from({ length: 1 + (seed % 6) }, (_, index) => {
    const at = seed * 7 + index * 3;
    return `the ${THINGS[at % THINGS.length]} was ${words[at % words.length]}`;
  });
  return `${clauses.join(" and ")}.`;
}
