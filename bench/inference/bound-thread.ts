/**
 * A thread of the bound: a session of the model with one thread inside. It runs the given batches
 * in a loop for some time and reports the durations of the calls. Padding and building tensors are
 * not counted.
 */
import { parentPort, workerData } from "node:worker_threads";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { chooseOutput } from "../../packages/batchwise/src/onnx/text/pooling.ts";
import type { Readout } from "../../packages/batchwise/src/onnx/text/readout.ts";

export interface ThreadData {
  readonly path: string;
  readonly paddingId: number;
  readonly firstPosition: number;
  readonly readout: Readout;
}

export interface ThreadTask {
  /** The token ids of each batch's texts. */
  readonly batches: readonly (readonly (readonly number[])[])[];
  /** Uncounted time of at least one call. */
  readonly leadMs: number;
  readonly durationMs: number;
}

export interface ThreadAnswer {
  /** The duration of each call, in the order of the batches, without the lead. */
  readonly callsMs: readonly number[];
  /** Number of calls in the lead. */
  readonly lead: number;
}

const data = workerData as ThreadData;
const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 } as const;
const session = await InferenceSession.create(data.path, options);
const output = chooseOutput(session.outputNames, data.readout);

function feedsOf(lists: ThreadTask["batches"][number]): Record<string, Tensor> {
  const columns = Math.max(...lists.map(({ length }) => length));
  const places = Array.from({ length: lists.length * columns }, (_, at) => [at, Math.floor(at / columns)] as const);
  const numberAt = (name: string, at: number, row: number): number => {
    const id = lists[row]?.[at % columns];
    if (name === "input_ids") return id ?? data.paddingId;
    if (name === "attention_mask") return id === undefined ? 0 : 1;
    return name === "position_ids" ? data.firstPosition + (at % columns) : 0;
  };
  const tensor = (name: string): Tensor => {
    const values = BigInt64Array.from(places, ([at, row]) => BigInt(numberAt(name, at, row)));
    return new Tensor("int64", values, [lists.length, columns]);
  };
  return Object.fromEntries(session.inputNames.map((name) => [name, tensor(name)]));
}

async function run({ batches, leadMs, durationMs }: ThreadTask): Promise<ThreadAnswer> {
  const started = performance.now();
  const callsMs: number[] = [];
  let lead = 0;
  let isLead = true;
  for (let at = 0; callsMs.length === 0 || performance.now() - started < leadMs + durationMs; at += 1) {
    const feeds = feedsOf(batches[at % batches.length] ?? []);
    const before = performance.now();
    await session.run(feeds, [output]);
    const after = performance.now();
    if (isLead) lead += 1;
    else callsMs.push(after - before);
    isLead &&= after - started < leadMs;
  }
  return { callsMs, lead };
}

parentPort?.on("message", async (task: ThreadTask | "close") => {
  if (task !== "close") return parentPort?.postMessage(await run(task));
  await session.release();
  parentPort?.close();
});
parentPort?.postMessage("open");
