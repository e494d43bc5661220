/**
 * The thread that tokenises long texts, with a copy of the tokenizer. It starts with the first
 * text.
 *
 * Guarantees: texts are tokenised one at a time, in order of arrival. A text that takes longer than
 * `MAX_TEXT_MS` ends the thread and rejects with MODEL_INPUT, and the next text gets a new thread.
 * A caller whose signal aborts gets its answer at once, and its text is dropped if it still waits.
 * A running text of such a caller is finished, because loading a tokenizer takes longer than most
 * texts.
 */

import type { WorkerOptions } from "node:worker_threads";
import { BatchwiseError } from "../../core/contract/errors.ts";
import { unlessAborted } from "../../core/contract/unless-aborted.ts";
import { fileBeside } from "../../threads/file-beside.ts";
import { ThreadPool } from "../../threads/thread-pool.ts";
import { tokenizerFailedError } from "../errors.ts";
import type { TokenThreadData } from "./token-handler.ts";
import type { NamedText, TokenCount } from "./tokenizer.ts";

/** A text of words that fits takes a tenth of this. */
const MAX_TEXT_MS = 5_000;

const HERE: string = import.meta.url;

export class TokenThread {
  readonly #pool: ThreadPool;

  constructor(data: TokenThreadData, workerOptions: Omit<WorkerOptions, "eval" | "workerData"> = {}) {
    this.#pool = new ThreadPool(1, {
      url: fileBeside(HERE, "token-handler").href,
      movesItems: false,
      movesResults: false,
      terminateAfterMs: Number.POSITIVE_INFINITY,
      maxRunMs: MAX_TEXT_MS,
      workerOptions: { name: "batchwise-tokenizer", ...workerOptions, workerData: data },
    });
  }

  /**
   * Rejects with MODEL_INPUT for a text that has no ids or takes too long, and with the signal's
   * reason.
   */
  async tokensOf(text: NamedText, signal: AbortSignal = new AbortController().signal): Promise<TokenCount> {
    signal.throwIfAborted();
    const context = { id: "", key: "", cost: 0, reason: "idle", requests: [], signal } as const;
    try {
      const [count] = await unlessAborted(this.#pool.run([text], context), signal);
      return (await count) as TokenCount;
    } catch (error) {
      const isEnded = error instanceof BatchwiseError && error.code === "THREAD_ENDED";
      throw isEnded ? tokenizerFailedError(text.name, error.cause ?? error) : error;
    }
  }

  /** Finishes accepted texts, then ends the thread. Idempotent. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
