// Threads that make padded texts into vectors, behind one `run`.
//
// Guarantees: every `run` settles exactly once; a thread that dies rejects the run it had, with
// THREAD_ENDED, and is replaced; `close` waits for what was given to `run`. Does not batch: a run
// goes to one thread as it is, and waits its turn while all are busy.

import { ModelThreads, type ModelThreadsOptions } from "../model-threads.ts";
import { MEAN_READOUT, type Readout } from "./readout.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

export interface VectorThreadsOptions extends ModelThreadsOptions {
  readonly path: string;
  /** How outputs become vectors. Default: as the graph pools them, else by the mean. */
  readonly readout?: Readout;
  /** The position of a text's first token. Default: 0. */
  readonly firstPosition?: number;
}

export class VectorThreads extends ModelThreads<TokenBatch, VectorBlock> {
  constructor({ path, readout = MEAN_READOUT, firstPosition = 0, ...options }: VectorThreadsOptions) {
    super({ file: "text/vector-handler", path, data: { readout, firstPosition } }, options);
  }
}
