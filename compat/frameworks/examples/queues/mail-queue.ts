// A durable queue of mails, as this example needs one: three files beside this one are it for
// BullMQ, pg-boss and graphile-worker.

import type { Batcher } from "batchwise";
import type { Mail, Receipt } from "./mail-batcher.ts";

export interface MailQueue {
  /** Resolves when the queue has stored them. */
  add(mails: readonly Mail[]): Promise<void>;
  /**
   * Starts a worker that hands each job's mail to the batcher and holds up to `jobs` jobs at a
   * time. A job is completed when its own mail is sent, and fails when its own mail is refused.
   */
  work(batcher: Batcher<Mail, Receipt>, jobs: number): Promise<Work>;
  counts(): Promise<JobCounts>;
  /** Ends the connections. */
  close(): Promise<void>;
}

export interface Work {
  /** Takes no further job; resolves when those that it holds have ended. */
  stop(): Promise<void>;
}

export interface JobCounts {
  /** Jobs that are neither completed nor permanently failed. */
  readonly open: number;
  /** Jobs that have failed permanently. */
  readonly failed: number;
}

export interface QueueOptions {
  /** How often a job is tried in all. */
  readonly attempts?: number;
  /** After how many seconds the jobs of a process that died are given to another one. */
  readonly recoverAfterSeconds?: number;
}
