/**
 * A worker thread of the suite `threads`: makes one blocking call after another, and reports the
 * duration of each. The item is a text of 160 characters, the answer its length.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { connectBatcher } from "batchwise/threads";

export interface CallerData {
  readonly port: MessagePort;
  /** The counter of answers, for the bare contender. */
  readonly cell: Int32Array<SharedArrayBuffer> | undefined;
  readonly warmups: number;
  readonly calls: number;
  /** Items per call; 1 for a plain submit. */
  readonly callSize: number;
}

export interface CallerReport {
  readonly tookUs: Float64Array;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The minimum of a blocking call: a message, a wait on memory, the answer. */
function bare(port: MessagePort, cell: Int32Array<SharedArrayBuffer>): (text: string) => number {
  let id = 0;
  return (text) => {
    id += 1;
    port.postMessage({ id, text });
    while (Atomics.load(cell, 0) < id) Atomics.wait(cell, 0, id - 1);
    const answer = receiveMessageOnPort(port)?.message as { readonly id: number; readonly value: number };
    if (answer.id !== id) throw new Error(`Expected the answer to ${id}, got that to ${answer.id}`);
    return answer.value;
  };
}

function callOf({ port, cell, callSize }: CallerData): (text: string) => number {
  if (cell !== undefined) return bare(port, cell);
  const remote = connectBatcher<string, number>(port);
  if (callSize === 1) return (text) => remote.submitSync(text);
  return (text) => remote.submitManySync(new Array<string>(callSize).fill(text))[callSize - 1] as number;
}

function textOf(call: number): string {
  return `${call} `.padEnd(160, "x");
}

const data = workerData as CallerData;
const call = callOf(data);

function measure(calls: number): CallerReport {
  const tookUs = new Float64Array(calls);
  const startedAt = performance.timeOrigin + performance.now();
  for (let index = 0; index < calls; index += 1) {
    const text = textOf(index);
    const before = performance.now();
    const length = call(text);
    tookUs[index] = (performance.now() - before) * 1_000;
    if (length !== text.length) throw new Error(`Expected ${text.length}, got ${length}`);
  }
  return { tookUs, startedAt, endedAt: performance.timeOrigin + performance.now() };
}

measure(data.warmups);
parentPort?.once("message", () => {
  parentPort?.postMessage(measure(data.calls));
});
parentPort?.postMessage("warm");
