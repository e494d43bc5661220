// Classifies the lines of a JSONL file overnight, at the price of a Batch API. Run it again after Ctrl-C, kill -9 or a
// crash, with the same folder, and it goes on: every line gets exactly one result, and no finished line is paid for
// again. See README.md. It does not look after failed lines: they are in the results with their error.

import { createWriteStream, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { createDispatcher, DispatchError, type Dispatcher, QuarantinedError } from "batchwise/dispatch";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { lockFolder } from "./folder-lock.ts";
import { makeInput } from "./make-input.ts";
import { show, showProgress } from "./progress.ts";
import { chooseProvider, type Provider } from "./provider.ts";
import { Refusal } from "./refusal.ts";
import { requestsOf } from "./requests.ts";
import { ResultsFile } from "./results-file.ts";

const USAGE = `Usage: main.ts [--folder <folder>] [--input <file.jsonl>] [--output <file.jsonl>] [--count <n>] [--requeue]
See README.md.`;

const values = parseFlags();

function parseFlags() {
  try {
    return parseArgs({
      options: {
        folder: { type: "string", default: ".cache/nightly-classification" },
        input: { type: "string" },
        output: { type: "string" },
        count: { type: "string", default: "5000" },
        requeue: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : ""}\n${USAGE}\n`);
    process.exit(2);
  }
}

/** The input given, or one made up in the folder. */
async function inputFile(folder: string): Promise<string> {
  if (values.input !== undefined) {
    if (!existsSync(values.input)) throw new Refusal(`There is no file ${values.input}.`);
    return values.input;
  }
  const path = join(folder, `messages-${values.count}.jsonl`);
  if (existsSync(path)) return path;
  const file = createWriteStream(path);
  await makeInput(Number(values.count), file);
  await finished(file.end());
  return path;
}

/** Enqueues every line; those of an earlier run are there already. Gives all ids. */
async function enqueueAll(dispatcher: Dispatcher, input: string): Promise<Set<string>> {
  const ids = new Set<string>();
  let known = 0;
  const stopDrawing = show(async () => [`${ids.size} lines enqueued`, `${known} of them known from an earlier run`]);
  try {
    for await (const requests of requestsOf(input)) {
      for (const { id, existing } of await dispatcher.enqueueMany(requests)) {
        if (existing && !ids.has(id)) known += 1;
        ids.add(id);
      }
    }
  } finally {
    await stopDrawing();
  }
  return ids;
}

/** Tells of batches that only a person can decide about. */
async function tellPutAside(dispatcher: Dispatcher, keys: readonly string[]): Promise<void> {
  const rows = await dispatcher.batches({ keys });
  const lines = rows.map(({ key, requests, lastError }) => `${key}: ${requests} requests, ${lastError?.message ?? ""}`);
  process.stderr.write(`\nPut aside; run again with --requeue to send them again:\n${lines.join("\n")}\n`);
}

async function classify(dispatcher: Dispatcher, input: string, output: string): Promise<number> {
  const left = await enqueueAll(dispatcher, input);
  const total = left.size;
  const results = new ResultsFile(output, (id) => left.delete(id));
  const before = left.size;
  const startedAt = performance.now();
  const stopDrawing = showProgress(dispatcher, () => {
    const elapsedMs = performance.now() - startedAt;
    return { total, written: total - left.size, added: before - left.size, elapsedMs };
  });
  try {
    // All of tonight's lines are in: no batch waits for more.
    dispatcher.flush();
    for await (const outcome of dispatcher.outcomes({ after: results.cursor, untilIdle: true })) {
      results.add(outcome);
      left.delete(outcome.id);
    }
  } catch (error) {
    if (!(error instanceof QuarantinedError)) throw error;
    await tellPutAside(dispatcher, error.keys);
  } finally {
    await stopDrawing();
    results.close();
  }
  return left.size;
}

async function main(): Promise<number> {
  const { folder } = values;
  mkdirSync(folder, { recursive: true });
  const lock = lockFolder(folder);
  try {
    const input = await inputFile(folder);
    const output = values.output ?? join(folder, "results.jsonl");
    const provider = await chooseProvider(folder);
    process.stderr.write(`process ${process.pid}: ${input} -> ${output}, by ${provider.name}\n`);
    const code = await run(provider, input, output);
    if (code === 0) provider.end();
    return code;
  } finally {
    lock.close();
  }
}

/** Gives the code to exit with. */
async function run(provider: Provider, input: string, output: string): Promise<number> {
  const store = sqliteStore({ path: join(values.folder, "requests.sqlite") });
  const dispatcher = createDispatcher({
    store,
    ...provider.options,
    onError: (error) => process.stderr.write(`\nwill be tried again: ${String(error)}\n`),
  });
  let interrupted = false;
  process.on("SIGINT", () => {
    if (interrupted) process.exit(130);
    interrupted = true;
    process.stderr.write("\nStopping. Run it again to go on. (Ctrl-C again: at once, which loses nothing either.)\n");
    void dispatcher.stop();
  });
  await dispatcher.start();
  if (values.requeue) {
    const aside = await dispatcher.batches({ states: ["quarantined"] });
    await dispatcher.requeue(aside.map(({ key }) => key));
  }
  try {
    const left = await classify(dispatcher, input, output);
    if (left === 0) return 0;
    process.stderr.write(`${left} lines have no result yet\n`);
    return interrupted ? 130 : 1;
  } catch (error) {
    // Stopped while it still enqueued: what was enqueued is stored.
    if (!interrupted) throw error;
    return 130;
  } finally {
    await dispatcher.stop();
    await store.close();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Refusal || error instanceof DispatchError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
