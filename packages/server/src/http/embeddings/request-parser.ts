/**
 * Parses and checks the JSON of a request: a small one at once, a large one in its own thread, so
 * that it does not block the event loop.
 *
 * Guarantees: both ways return the same request or the same error. The thread has one body at a
 * time, in order of arrival; the others wait here, and aborted ones are dropped without reaching
 * it. If the thread dies, its body fails, and the next large body gets a new thread. The thread
 * starts with the first large body and ends with `close`. When the thread's current body is
 * aborted, its caller gets the error at once, but the thread parses it to its end.
 */

import { Worker } from "node:worker_threads";
import type { ModelDescription } from "../../models/embedder.ts";
import { ApiError } from "../errors.ts";
import { jsonObjectIn } from "../requests/body.ts";
import { type EmbeddingsRequest, parseEmbeddingsRequest } from "./embeddings-request.ts";

/** Parsing this many bytes takes a few milliseconds. */
const LARGE_BODY_BYTES: number = 128 * 1024;

type Refusal = Pick<ApiError, "status" | "message" | "param" | "code" | "headers">;

export type Parsed = { readonly request: EmbeddingsRequest } | { readonly refusal: Refusal };

interface Reading {
  readonly bytes: Uint8Array<ArrayBuffer>;
  resolve(request: EmbeddingsRequest): void;
  reject(reason: unknown): void;
}

// The worker's file has the extension of this file: .ts if Node runs the sources, .js in a build.
const WORKER_URL: URL = new URL(
  `./request-parser-worker${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`,
  import.meta.url,
);

export class RequestParser {
  readonly #model: ModelDescription;
  /** Bodies that are not sent to the thread yet, in order of arrival. */
  readonly #waiting: Set<Reading> = new Set();
  /** The body in the thread. */
  #current: Reading | null = null;
  #worker: Worker | null = null;

  constructor(model: ModelDescription) {
    this.#model = model;
  }

  /**
   * Takes ownership of the bytes. Rejects with the ApiError that refuses them, or with the signal's
   * reason when that aborts.
   */
  async parse(bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<EmbeddingsRequest> {
    signal.throwIfAborted();
    if (bytes.length <= LARGE_BODY_BYTES) return parseEmbeddingsRequest(jsonObjectIn(bytes), this.#model);
    let drop = (): void => undefined;
    const request = new Promise<EmbeddingsRequest>((resolve, reject) => {
      const reading: Reading = { bytes, resolve, reject };
      drop = () => {
        this.#waiting.delete(reading);
        reject(signal.reason);
      };
      this.#waiting.add(reading);
    });
    signal.addEventListener("abort", drop);
    this.#sendNext();
    try {
      return await request;
    } finally {
      signal.removeEventListener("abort", drop);
    }
  }

  /** Ends the thread; fails its current body and all waiting ones. */
  async close(): Promise<void> {
    for (const { reject } of this.#waiting) reject(threadEnded());
    this.#waiting.clear();
    await this.#worker?.terminate();
  }

  /** A body for which no thread can be started fails: the system may have no more threads. */
  #sendNext(): void {
    for (const next of this.#waiting) {
      if (this.#current !== null) return;
      this.#waiting.delete(next);
      try {
        this.#worker ??= this.#start();
        this.#worker.postMessage(next.bytes, [next.bytes.buffer]);
        this.#current = next;
      } catch (error) {
        next.reject(error);
      }
    }
  }

  #start(): Worker {
    const worker = new Worker(WORKER_URL, { workerData: this.#model, name: "batchwise-json" });
    let failure: unknown = threadEnded();
    worker.on("message", (parsed: Parsed) => {
      if ("request" in parsed) this.#current?.resolve(parsed.request);
      else this.#current?.reject(errorOf(parsed.refusal));
      this.#current = null;
      this.#sendNext();
    });
    worker.on("error", (error) => {
      failure = error;
    });
    worker.on("exit", () => {
      this.#worker = null;
      this.#current?.reject(failure);
      this.#current = null;
      this.#sendNext();
    });
    return worker;
  }
}

function threadEnded(): Error {
  return new Error("The thread that reads large bodies ended.");
}

/** Messages between threads lose the class. */
function errorOf({ status, message, param, code, headers }: Refusal): ApiError {
  const options = { ...(param === null ? {} : { param }), ...(code === null ? {} : { code }), headers };
  return new ApiError(status, message, options);
}
