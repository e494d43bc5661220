/**
 * Reads the JSON of a request and checks it: a small one at once, a large one in a thread of its own, so that it does
 * not stop the event loop.
 *
 * Guarantees: both ways give the same request or the same refusal; a thread that dies fails what it was reading, and
 * the next large body gets a new one. The thread starts with the first large body and ends with `close`.
 */

import { Worker } from "node:worker_threads";
import type { ModelDescription } from "../../models/embedder.ts";
import { ApiError } from "../errors.ts";
import { jsonObjectIn } from "../requests/body.ts";
import { type EmbeddingsRequest, parseEmbeddingsRequest } from "./embeddings-request.ts";

/** Read at once, this many bytes take a few milliseconds. */
const LARGE_BODY_BYTES: number = 128 * 1024;

export interface ParseTask {
  readonly id: number;
  readonly bytes: Uint8Array;
}

type Refusal = Pick<ApiError, "status" | "message" | "param" | "code" | "headers">;

export type Parsed =
  | { readonly id: number; readonly request: EmbeddingsRequest }
  | { readonly id: number; readonly refusal: Refusal };

interface Reading {
  resolve(request: EmbeddingsRequest): void;
  reject(reason: unknown): void;
}

// The worker's file has the extension of this one: .ts when Node runs the sources, .js once they are compiled.
const WORKER_URL: URL = new URL(
  `./request-parser-worker${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`,
  import.meta.url,
);

export class RequestParser {
  readonly #model: ModelDescription;
  readonly #readings: Map<number, Reading> = new Map();
  #worker: Worker | null = null;
  #nextId = 0;

  constructor(model: ModelDescription) {
    this.#model = model;
  }

  /** Takes the bytes over. Throws the ApiError that refuses them. */
  async parse(bytes: Uint8Array<ArrayBuffer>): Promise<EmbeddingsRequest> {
    if (bytes.length <= LARGE_BODY_BYTES) return parseEmbeddingsRequest(jsonObjectIn(bytes), this.#model);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#nextId++;
    return await new Promise((resolve, reject) => {
      this.#readings.set(id, { resolve, reject });
      worker.postMessage({ id, bytes } satisfies ParseTask, [bytes.buffer]);
    });
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(WORKER_URL, { workerData: this.#model, name: "batchwise-json" });
    let failure: unknown = new Error("The thread that reads large bodies ended.");
    worker.on("message", (parsed: Parsed) => this.#settle(parsed));
    worker.on("error", (error) => {
      failure = error;
    });
    worker.on("exit", () => {
      this.#worker = null;
      for (const { reject } of this.#readings.values()) reject(failure);
      this.#readings.clear();
    });
    return worker;
  }

  #settle(parsed: Parsed): void {
    const reading = this.#readings.get(parsed.id);
    this.#readings.delete(parsed.id);
    if ("request" in parsed) reading?.resolve(parsed.request);
    else reading?.reject(errorOf(parsed.refusal));
  }
}

/** Messages between threads keep no classes. */
function errorOf({ status, message, param, code, headers }: Refusal): ApiError {
  const options = { ...(param === null ? {} : { param }), ...(code === null ? {} : { code }), headers };
  return new ApiError(status, message, options);
}
