/**
 * The thread that hosts one model session. `session.run` blocks its thread from start to end, so it must never run
 * on the thread that serves HTTP.
 *
 * Guarantees: answers every `run` once, in order; a failing run answers with its message and the thread goes on.
 * Ends by itself after `close` and is never terminated from outside: ending a thread inside a native run aborts the
 * whole process.
 */

import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { chooseOutput, type OutputTensor, vectorsFrom } from "./pooling.ts";
import type { Readout } from "./readout.ts";
import type { FromWorker, SessionWorkerData, ToWorker } from "./session-protocol.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

/** A little less of a core than HTTP gets where both want it. */
const NICENESS = 5;
// Errors only come back as messages; without this the runtime also prints each to stderr.
const SILENT = 4;

interface LoadedModel {
  readonly session: InferenceSession;
  readonly output: string;
  readonly readout: Readout;
  readonly firstPosition: number;
}

async function load({ modelPath, intraOpThreads, readout, firstPosition }: SessionWorkerData): Promise<LoadedModel> {
  const session = await InferenceSession.create(modelPath, {
    intraOpNumThreads: intraOpThreads,
    interOpNumThreads: 1,
    logSeverityLevel: SILENT,
  });
  for (const name of session.inputNames) feedOf(name, { rows: 0, columns: 0, ids: EMPTY, mask: EMPTY }, firstPosition);
  return { session, output: chooseOutput(session.outputNames, readout), readout, firstPosition };
}

const EMPTY = new BigInt64Array(0);

/** The tensor for one of the model's inputs; the inputs of BERT-like models are known by name. */
function feedOf(name: string, batch: TokenBatch, firstPosition: number): Tensor {
  const dims = [batch.rows, batch.columns];
  if (name === "input_ids") return new Tensor("int64", batch.ids, dims);
  if (name === "attention_mask") return new Tensor("int64", batch.mask, dims);
  // All texts are first segments.
  if (name === "token_type_ids") return new Tensor("int64", new BigInt64Array(batch.ids.length), dims);
  if (name === "position_ids") return new Tensor("int64", positions(batch, firstPosition), dims);
  throw new Error(`The model asks for \`${name}\`; expected input_ids, attention_mask, token_type_ids or position_ids`);
}

function positions({ rows, columns }: TokenBatch, first: number): BigInt64Array {
  return BigInt64Array.from({ length: rows * columns }, (_, place) => BigInt(first + (place % columns)));
}

async function run({ session, output, readout, firstPosition }: LoadedModel, batch: TokenBatch): Promise<VectorBlock> {
  const feeds: Record<string, Tensor> = {};
  for (const name of session.inputNames) feeds[name] = feedOf(name, batch, firstPosition);
  const outputs: Readonly<Record<string, OutputTensor>> = await session.run(feeds, [output]);
  const tensor = outputs[output];
  if (tensor === undefined) throw new Error(`The model gave no \`${output}\``);
  return vectorsFrom(tensor, batch, readout);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A text that waits for HTTP waits longer than one that waits for the model. Elsewhere this would be the whole process. */
function letHttpGoFirst(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: all threads stay alike.
  }
}

async function main(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("session-worker runs in a worker thread only");
  const answer = (message: FromWorker, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);
  letHttpGoFirst();
  let model: LoadedModel;
  try {
    model = await load(workerData as SessionWorkerData);
  } catch (error) {
    answer({ type: "refused", message: messageOf(error) });
    return;
  }
  port.on("message", (message: ToWorker) => {
    if (message.type === "close") {
      port.close();
      void model.session.release();
      return;
    }
    run(model, message.batch).then(
      (vectors) => answer({ type: "done", id: message.id, vectors }, [vectors.data.buffer]),
      (error: unknown) => answer({ type: "failed", id: message.id, message: messageOf(error) }),
    );
  });
  answer({ type: "ready" });
}

await main();
