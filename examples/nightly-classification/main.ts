// Classifies the lines of a JSONL file overnight, at the price of a Batch API. Run it again after
// Ctrl-C, kill -9 or a crash, with the same folder, and it continues: every line gets exactly one
// result, and none is paid for twice.

import { mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type JobProgress, runBatch } from "batchwise/dispatch";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import type OpenAI from "openai";
import { chooseProvider } from "./provider.ts";

const LABELS = ["billing", "bug", "shipping", "other"];
const TASK = `You sort messages to a shop. Answer with one word, and nothing else: ${LABELS.join(", ")}.`;
const MADE_UP = ["I was charged twice.", "The app crashes.", "Where is my parcel?", "I love the new design."];

/** The id of a line is the id of its request, so it is the same request in every run. */
async function* requestsOf(path: string | undefined) {
  const madeUp = Array.from({ length: 5_000 }, (_, n) => `{"id":"message-${n}","text":"${MADE_UP[n % 4]} (${n})"}`);
  for await (const line of path === undefined ? madeUp : (await open(path)).readLines()) {
    const { id, text } = JSON.parse(line) as { readonly id: string; readonly text: string };
    yield { id, body: { messages: [TASK, text].map((content, n) => ({ role: n ? "user" : "system", content })) } };
  }
}

function show({ total, done, existing, waiting, inBatches, perSecond, leftMs }: JobProgress): void {
  const left = leftMs === null ? "" : ` | ${Math.ceil(leftMs / 60_000)} min left`;
  const where = `${waiting} waiting, ${inBatches} in batches | ${existing} of them known from an earlier run`;
  const line = `${done} of ${total} done | ${perSecond.toFixed(1)}/s${left} | ${where}`;
  process.stderr.write(process.stderr.isTTY ? `\r${line.slice(0, process.stderr.columns - 1)}\x1b[K` : `${line}\n`);
}

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("Stopped. Run it again to go on.")));
try {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { folder: text, input: text, output: text } });
  const { folder = ".cache/nightly-classification", input, output = `${folder}/results.jsonl` } = values;
  mkdirSync(folder, { recursive: true });
  const { options, end } = await chooseProvider(folder);
  const store = sqliteStore({ path: `${folder}/requests.sqlite` });
  // For this process only: a second one at the same time, in the same folder, does no harm.
  const part = `${output}.part-${process.pid}`;
  const results = openSync(part, "w");
  const onError = (error: unknown): boolean => process.stderr.write(`\nwill be tried again: ${error}\n`);
  const job = { store, job: "messages", requests: requestsOf(input), signal: stop.signal, onError, onProgress: show };
  for await (const { id, status, response, error } of runBatch({ ...options, ...job })) {
    const said = (response?.body as OpenAI.ChatCompletion | undefined)?.choices[0]?.message.content?.toLowerCase();
    const label = LABELS.find((label) => said?.includes(label)) ?? null;
    writeSync(results, `${JSON.stringify({ id, label, status, error })}\n`);
  }
  await store.close();
  renameSync(part, output);
  process.stderr.write("\n");
  end();
} catch (error) {
  process.stderr.write(`\n${(error as Error).message}\n`);
  process.exitCode = stop.signal.aborted ? 130 : 1;
}
