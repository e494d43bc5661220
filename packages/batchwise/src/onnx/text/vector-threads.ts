// Threads that turn padded texts into vectors, behind one `run`.
//
// Guarantees: every `run` settles exactly once. If a thread dies, its run rejects with THREAD_ENDED
// and the thread is replaced. `close` waits for all calls of `run`. Does not batch: each run goes
// to one thread unchanged, and waits while all are busy.

import { ModelThreads, type ModelThreadsOptions } from "../model-threads.ts";
import { MEAN_READOUT, type Readout } from "./readout.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

export interface VectorThreadsOptions extends ModelThreadsOptions {
  readonly path: string;
  /** How outputs become vectors. Default: the graph's own pooling, else the mean. */
  readonly readout?: Readout;
  /** The position of a text's first token. Default: 0. */
  readonly firstPosition?: number;
}

export class VectorThreads extends ModelThreads<TokenBatch, VectorBlock> {
  constructor({ path, readout = MEAN_READOUT, firstPosition = 0, ...options }: VectorThreadsOptions) {
    super({ file: "text/vector-handler", path, data: { readout, firstPosition } }, options);
  }
}
