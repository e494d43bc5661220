// A worker thread with a connection to a shared batcher, controlled by the tests. All threads are
// ended after each test.

import { Worker } from "node:worker_threads";
import type { SharedBatcher } from "batchwise/threads";
import { afterEachTest } from "../../../../../scripts/after-tests.ts";

export interface Job {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

export interface Report {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: SeenError;
}

/** An error as the thread saw it, before it was cloned for the report. */
export type SeenError =
  | { readonly isError: false; readonly value: unknown }
  | {
      readonly isError: true;
      readonly isBatchwise: boolean;
      readonly isTypeError: boolean;
      readonly isAggregate: boolean;
      readonly name: string;
      readonly message: string;
      readonly own: Readonly<Record<string, unknown>>;
      readonly code: unknown;
      readonly retryable: unknown;
      readonly hasHandlerStack: boolean;
      readonly cause: SeenError | undefined;
    };

const started: CallingThread[] = [];

afterEachTest(async () => {
  await Promise.all(started.splice(0).map((thread) => thread.worker.terminate()));
});

export class CallingThread {
  readonly worker: Worker;
  readonly ended: Promise<number>;
  readonly #open: Map<number, (report: Report) => void> = new Map();

  constructor(shared: SharedBatcher) {
    const port = shared.port();
    const url = new URL("./fixtures/caller.ts", import.meta.url);
    this.worker = new Worker(url, { workerData: { port }, transferList: [port], stderr: true });
    this.worker.on("message", (report: Report) => this.#open.get(report.id)?.(report));
    this.worker.on("error", () => {});
    this.ended = new Promise((resolve) => this.worker.once("exit", resolve));
    started.push(this);
  }

  /** Resolves with the return value of the thread's job, or with `{ error }` if it threw. */
  async ask(name: string, ...args: readonly unknown[]): Promise<unknown> {
    const { value, error } = await this.report(name, args);
    return error === undefined ? value : { error };
  }

  /** The error of a job that must fail. */
  async errorOf(name: string, ...args: readonly unknown[]): Promise<SeenError> {
    const { error } = await this.report(name, args);
    if (error === undefined) throw new Error(`Expected ${name} to fail.`);
    return error;
  }

  report(name: string, args: readonly unknown[]): Promise<Report> {
    const id = this.#open.size + 1;
    return new Promise((resolve) => {
      this.#open.set(id, resolve);
      this.worker.postMessage({ id, name, args } satisfies Job);
    });
  }
}
