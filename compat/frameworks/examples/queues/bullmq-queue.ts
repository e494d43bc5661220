// BullMQ: the worker's processor submits, and BullMQ completes a job when its processor resolves.

import { type ConnectionOptions, Queue, Worker } from "bullmq";
import type { Mail, Receipt } from "./mail-batcher.ts";
import type { MailQueue, QueueOptions } from "./mail-queue.ts";
import { warnOfJobs } from "./warn-of-jobs.ts";

const NAME = "mails";

interface Options extends QueueOptions {
  readonly connection: ConnectionOptions;
  /** Prefix of all its keys. */
  readonly prefix?: string;
}

export function bullmqQueue({
  connection,
  prefix = "bull",
  attempts = 3,
  recoverAfterSeconds = 30,
}: Options): MailQueue {
  const queue = new Queue<Mail, Receipt, "mail">(NAME, { connection, prefix });
  return {
    async add(mails) {
      const opts = { attempts, backoff: 1_000, removeOnComplete: true };
      await queue.addBulk(mails.map((data) => ({ name: "mail", data, opts })));
    },

    async work(batcher, jobs) {
      warnOfJobs(batcher, jobs);
      // A worker renews the locks of its jobs at half of their time, even while they wait in a
      // batch.
      const lockDuration = recoverAfterSeconds * 1_000;
      const locks = { lockDuration, stalledInterval: lockDuration / 2 };
      const options = { connection, prefix, concurrency: jobs, ...locks };
      const worker = new Worker<Mail, Receipt, "mail">(NAME, (job) => batcher.submit(job.data), options);
      worker.on("error", (error) => console.error(error.message));
      await worker.waitUntilReady();
      return { stop: () => worker.close() };
    },

    async counts() {
      const { completed: _, failed = 0, ...open } = await queue.getJobCounts();
      return { open: Object.values(open).reduce((sum, count) => sum + count, 0), failed };
    },

    close: () => queue.close(),
  };
}
