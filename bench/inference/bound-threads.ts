/** Runs the model alone in threads of this process, all at the same time. Ends all of them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ModelSource } from "../../packages/batchwise/src/onnx/text/model-folder/model-files.ts";
import { median } from "../harness/numbers.ts";
import { type Cut, spread, sum, weightOf, wholeMs } from "./bound-batches.ts";
import type { ThreadAnswer, ThreadData, ThreadTask } from "./bound-thread.ts";

type Tokens = readonly number[];

/** This many evenly spread batches of a cut stand for all. */
const SAMPLE = 256;
const PROBE_MS = 80;
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

  /** Texts per second of all threads, over all batches of the cut. */
  async perSecond(texts: readonly Tokens[], cut: Cut, leadMs: number, durationMs: number): Promise<number> {
    const weights = cut.batches.map(([from, to]) => weightOf(to - from, texts[to - 1]?.length ?? 0));
    const samples = this.#threads.map(() => {
      this.#measured += 1;
      return spread(cut.batches.length, SAMPLE, SAMPLE * this.#measured);
    });
    const answers = await this.#runAll((thread) => {
      const batches = (samples[thread] ?? []).map((at) => texts.slice(...(cut.batches[at] ?? [0, 0])));
      return { batches, leadMs, durationMs };
    });
    const ofThreads = answers.map(({ callsMs, lead }, thread) => {
      const sample = samples[thread] ?? [];
      const ran = callsMs.map((_, call) => weights[sample[(lead + call) % sample.length] ?? 0] ?? 0);
      return (1_000 * texts.length) / wholeMs(callsMs, ran, weights);
    });
    return sum(ofThreads);
  }

  /**
   * Milliseconds of a call with `rows` texts of `columns` tokens, while all threads run such calls.
   */
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

  #runAll(taskOf: (thread: number) => ThreadTask): Promise<ThreadAnswer[]> {
    return Promise.all(
      this.#threads.map(async (thread, at) => {
        const answer = once(thread, "message");
        thread.postMessage(taskOf(at));
        return ((await answer) as [ThreadAnswer])[0];
      }),
    );
  }
}
