// The interface of a durable queue of mails. Three files beside this one implement it for BullMQ,
// pg-boss and graphile-worker.

import type { Batcher } from "batchwise";
import type { Mail, Receipt } from "./mail-batcher.ts";

export interface MailQueue {
  /** Resolves when the queue has stored them. */
  add(mails: readonly Mail[]): Promise<void>;
  /**
   * Starts a worker that passes each job's mail to the batcher and holds up to `jobs` jobs at a
   * time. A job is completed when its own mail is sent, and fails when its own mail is refused.
   */
  work(batcher: Batcher<Mail, Receipt>, jobs: number): Promise<Work>;
  counts(): Promise<JobCounts>;
  /** Closes the connections. */
  close(): Promise<void>;
}

export interface Work {
  /** Takes no more jobs; resolves when its current jobs have ended. */
  stop(): Promise<void>;
}

export interface JobCounts {
  /** Jobs that are neither completed nor permanently failed. */
  readonly open: number;
  /** Jobs that have failed permanently. */
  readonly failed: number;
}

export interface QueueOptions {
  /** Total number of tries per job. */
  readonly attempts?: number;
  /** Seconds after which the jobs of a dead process are given to another. */
  readonly recoverAfterSeconds?: number;
}
