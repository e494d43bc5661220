/**
 * One worker thread with one model session, seen from the service's side.
 *
 * Guarantees: every `run` settles exactly once, also when the thread dies; errors keep the model's own message.
 * The thread is asked to end and never terminated, because ending it inside a native run aborts the process.
 * Does not restart itself; a dead thread is replaced by its pool.
 */

import { Worker } from "node:worker_threads";
import { ModelError } from "./errors.ts";
import type { FromWorker, SessionWorkerData, ToWorker } from "./session-protocol.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

interface Run {
  readonly resolve: (vectors: VectorBlock) => void;
  readonly reject: (error: Error) => void;
}

// The worker's file has the extension of this one: .ts when Node runs the sources, .js once they are compiled.
const WORKER_URL: URL = new URL(
  `./session-worker${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`,
  import.meta.url,
);

export class SessionThread {
  readonly #worker: Worker;
  readonly #runs: Map<number, Run> = new Map();
  readonly #ended: Promise<void>;
  #alive = true;
  #failure: Error | undefined;
  #nextId = 0;

  private constructor(data: SessionWorkerData, workerUrl: URL, onReady: () => void, onRefused: (error: Error) => void) {
    this.#worker = new Worker(workerUrl, { workerData: data, name: "batchwise-model" });
    this.#worker.on("message", (message: FromWorker) => {
      if (message.type === "ready") onReady();
      else if (message.type !== "refused") this.#settle(message);
      else onRefused(new ModelError("MODEL_LOAD", `Cannot load ${data.modelPath}: ${message.message}`));
    });
    this.#worker.on("error", (error) => {
      this.#failure = error;
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        this.#alive = false;
        const cause = this.#failure;
        const detail = cause === undefined ? "" : `: ${cause.message}`;
        const error = new ModelError("MODEL_THREAD_ENDED", `The model's thread ended with exit code ${code}${detail}`, {
          cause,
        });
        onRefused(error);
        // First, so that whoever runs again on hearing of the failure finds a new thread.
        resolve();
        for (const run of this.#runs.values()) run.reject(error);
        this.#runs.clear();
      });
    });
  }

  /** Starts a thread; resolves once the model is loaded. */
  static start(data: SessionWorkerData, workerUrl: URL = WORKER_URL): Promise<SessionThread> {
    return new Promise((resolve, reject) => {
      const thread = new SessionThread(data, workerUrl, () => resolve(thread), reject);
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Resolves when the thread is gone, for whatever reason. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Takes the batch's memory with it. */
  run(batch: TokenBatch): Promise<VectorBlock> {
    if (!this.#alive) return Promise.reject(new ModelError("MODEL_THREAD_ENDED", "The model's thread has ended"));
    this.#nextId += 1;
    const id = this.#nextId;
    return new Promise((resolve, reject) => {
      this.#runs.set(id, { resolve, reject });
      this.#post({ type: "run", id, batch }, [batch.ids.buffer, batch.mask.buffer]);
    });
  }

  /** Lets what runs finish, then ends the thread. */
  close(): Promise<void> {
    if (this.#alive) this.#post({ type: "close" });
    return this.#ended;
  }

  #post(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #settle(message: Extract<FromWorker, { type: "done" | "failed" }>): void {
    const run = this.#runs.get(message.id);
    this.#runs.delete(message.id);
    if (message.type === "done") run?.resolve(message.vectors);
    else run?.reject(new ModelError("MODEL_FAILED", message.message));
  }
}
