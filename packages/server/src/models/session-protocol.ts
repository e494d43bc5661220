/** The messages between the service's thread and a thread that hosts a model. Types only. */

import type { Readout } from "./readout.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

export interface SessionWorkerData {
  readonly modelPath: string;
  readonly intraOpThreads: number;
  readonly readout: Readout;
  /** The position of a text's first token. */
  readonly firstPosition: number;
}

export type ToWorker =
  | { readonly type: "run"; readonly id: number; readonly batch: TokenBatch }
  /** Sent only when nothing runs; the thread then ends by itself. */
  | { readonly type: "close" };

export type FromWorker =
  | { readonly type: "ready" }
  /** The model could not be loaded; the thread ends. */
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "done"; readonly id: number; readonly vectors: VectorBlock }
  | { readonly type: "failed"; readonly id: number; readonly message: string };
