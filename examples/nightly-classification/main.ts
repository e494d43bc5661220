// Puts a label on each line of a JSONL file, at the price of a Batch API. Run it again after Ctrl-C or kill -9, with the
// same folder, and it goes on. See README.md.

import { existsSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { type BatchProgress, runBatch } from "batchwise/dispatch";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { chooseProvider, endProvider } from "./provider.ts";

const LABELS = ["billing", "bug", "shipping", "other"];
const TASK = `You sort messages to a shop. Answer with one word, and nothing else: ${LABELS.join(", ")}.`;
const [kind, byDefault] = ["string", ".cache/nightly-classification"] as const;
const options = { folder: { type: kind, default: byDefault }, input: { type: kind }, output: { type: kind } } as const;
const { folder = "", ...files } = parseArgs({ options }).values;
const { input = `${folder}/messages.jsonl`, output = `${folder}/results.jsonl` } = files;

const message = (role: string, content: string) => ({ role, content });
async function* requests() {
  for await (const line of (await open(input)).readLines()) {
    const { id, text } = JSON.parse(line) as { id: string; text: string };
    yield { id, body: { messages: [message("system", TASK), message("user", text)] } };
  }
}

/** To practise with. */
const madeUp = Array.from({ length: 5_000 }, (_, n) => `{"id":"m${n}","text":"${LABELS[n % 4]} ${n}"}`).join("\n");

function show({ enqueued, existing, ended, waiting, inBatches, rate, timeLeftMs }: BatchProgress): void {
  const done = `${ended.succeeded + ended.failed} of ${enqueued} done, ${existing} of them known`;
  const left = timeLeftMs === null ? "" : ` | ${Math.ceil(timeLeftMs / 1_000)} s left`;
  const rest = `${waiting} waiting, ${inBatches} in batches | ${rate.toFixed(1)}/s${left}`;
  process.stderr.write(process.stderr.isTTY ? `\r${done} | ${rest}\x1b[K` : `${done} | ${rest}\n`);
}

const practice = `${folder}/practice-provider.json`;
const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("Stopped. Run it again to go on.")));
mkdirSync(folder, { recursive: true });
const lock = new DatabaseSync(`${folder}/process.lock`);
try {
  // Two processes may run one job, but not write one file. However a process ends, the system takes this lock back.
  lock.exec("BEGIN EXCLUSIVE");
  if (files.input === undefined && !existsSync(input)) writeFileSync(input, madeUp);
  const provider = await chooseProvider(practice);
  process.stderr.write(`process ${process.pid}: ${input} -> ${output}\n`);
  const store = sqliteStore({ path: `${folder}/requests.sqlite` });
  // Each run writes all results anew: the store has those of earlier runs.
  const file = openSync(output, "w");
  const job = { store, ...provider, job: "night", requests: requests(), onProgress: show, signal: stop.signal };
  for await (const { id, status, response, error } of runBatch(job)) {
    const said = JSON.stringify(response?.body.choices ?? null).toLowerCase();
    const label = LABELS.find((each) => said.includes(each)) ?? null;
    writeSync(file, `${JSON.stringify({ id, label, status, error })}\n`);
  }
  await store.close();
  endProvider(practice);
} catch (error) {
  const isLocked = String(error).includes("is locked");
  process.stderr.write(`\n${isLocked ? `Another process works on ${folder}.` : (error as Error).message}\n`);
  process.exitCode = stop.signal.aborted ? 130 : 1;
}
lock.close();
