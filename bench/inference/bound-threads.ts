/** The model alone in threads of this process: each runs batches at the same time as the others. Ends all of them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ModelSource } from "../../packages/batchwise/src/onnx/text/model-files.ts";
import { median } from "../harness/numbers.ts";
import { type Cut, spread } from "./bound-batches.ts";
import type { ThreadAnswer, ThreadData, ThreadTask } from "./bound-thread.ts";

type Tokens = readonly number[];

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** So many batches of a cut, evenly spread, stand for all. */
const SAMPLE = 256;
const PROBE_MS = 120;
/** The id of a thread that has ended. */
const ENDED = -1;

export class BoundThreads {
  readonly #threads: readonly Worker[];
  #measured = 0;

  private constructor(threads: readonly Worker[]) {
    this.#threads = threads;
  }

  static async open(count: number, { path, tokenizer, firstPosition, readout }: ModelSource): Promise<BoundThreads> {
    const data: ThreadData = { path, paddingId: tokenizer.paddingId, firstPosition, readout };
    const url = new URL("bound-thread.ts", import.meta.url);
    const threads = Array.from({ length: count }, () => new Worker(url, { workerData: data }));
    const opened = await Promise.allSettled(threads.map((thread) => once(thread, "message")));
    const bound = new BoundThreads(threads);
    const failed = opened.find(({ status }) => status === "rejected");
    if (failed === undefined) return bound;
    await bound.close();
    throw (failed as PromiseRejectedResult).reason;
  }

  /** Texts a second of all threads, over all of the cut: by how long its batches take on average. */
  async perSecond(texts: readonly Tokens[], cut: Cut, leadMs: number, durationMs: number): Promise<number> {
    const rows = texts.length / cut.batches.length;
    const answers = await this.#runAll(() => {
      this.#measured += 1;
      const sample = spread(cut.batches.length, SAMPLE, SAMPLE * this.#measured);
      const batches = sample.map((at) => texts.slice(...(cut.batches[at] ?? [0, 0])));
      return { batches, leadMs, durationMs };
    });
    return answers.reduce((sum, { callsMs }) => sum + (1_000 * rows) / mean(callsMs), 0);
  }

  /** Milliseconds of a call with so many texts of so many tokens each, while all threads run such calls. */
  async callMs(rows: number, columns: number): Promise<number> {
    const batch = Array.from({ length: rows }, () => new Array<number>(columns).fill(1));
    const answers = await this.#runAll(() => ({ batches: [batch], leadMs: PROBE_MS / 4, durationMs: PROBE_MS }));
    return median(answers.flatMap(({ callsMs }) => callsMs));
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#threads.map((thread) => {
        if (thread.threadId === ENDED) return undefined;
        const exit = once(thread, "exit");
        thread.postMessage("close");
        return exit;
      }),
    );
  }

  #runAll(taskOf: () => ThreadTask): Promise<ThreadAnswer[]> {
    return Promise.all(
      this.#threads.map(async (thread) => {
        const answer = once(thread, "message");
        thread.postMessage(taskOf());
        return ((await answer) as [ThreadAnswer])[0];
      }),
    );
  }
}
