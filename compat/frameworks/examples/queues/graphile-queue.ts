// graphile-worker: the task submits, and graphile-worker completes a job, which deletes it, when
// its task resolves.

import { Logger, makeWorkerUtils, type RunnerOptions, run } from "graphile-worker";
import pg from "pg";
import type { Mail } from "./mail-batcher.ts";
import type { MailQueue, QueueOptions } from "./mail-queue.ts";
import { warnOfJobs } from "./warn-of-jobs.ts";

const TASK = "mail";

interface Options extends Omit<QueueOptions, "recoverAfterSeconds"> {
  readonly connection: pg.PoolConfig;
  readonly schema?: string;
}

export interface GraphileQueue extends MailQueue {
  /**
   * Gives the jobs of every process that holds some to those that ask next. For when no worker
   * runs: graphile-worker itself waits four hours before it takes a process for dead.
   */
  unlock(): Promise<void>;
}

export async function graphileQueue(options: Options): Promise<GraphileQueue> {
  const { connection, schema = "graphile_worker", attempts = 3 } = options;
  const pgPool = new pg.Pool(connection);
  pgPool.on("error", () => {});
  // A connection that is cut is replaced; what fails is in its job's `last_error`.
  pgPool.on("connect", (client) => client.on("error", () => {}));
  const shared = { pgPool, schema, logger: new Logger(() => () => {}) };
  const utils = await makeWorkerUtils(shared);
  await utils.migrate();
  return {
    async add(mails) {
      await utils.addJobs(mails.map((payload) => ({ identifier: TASK, payload, maxAttempts: attempts })));
    },

    async work(batcher, jobs) {
      warnOfJobs(batcher, jobs);
      // Jobs are fetched, and completed, many at a time: without this each is a statement or two.
      const preset: RunnerOptions["preset"] = { worker: { localQueue: { size: jobs }, completeJobBatchDelay: 0 } };
      const taskList = {
        [TASK]: async (mail: unknown): Promise<void> => {
          await batcher.submit(mail as Mail);
        },
      };
      const runner = await run({ ...shared, preset, taskList, concurrency: jobs, noHandleSignals: true });
      return { stop: () => Promise.resolve(runner.stop()) };
    },

    async counts() {
      const { rows } = await pgPool.query(
        `SELECT count(*) FILTER (WHERE attempts < max_attempts OR locked_at IS NOT NULL)::int AS open,
                count(*) FILTER (WHERE attempts >= max_attempts AND locked_at IS NULL)::int AS failed
         FROM ${schema}.jobs`,
      );
      return rows[0];
    },

    async unlock() {
      const { rows } = await pgPool.query(`SELECT DISTINCT locked_by FROM ${schema}.jobs WHERE locked_by IS NOT NULL`);
      await utils.forceUnlockWorkers(rows.map(({ locked_by }) => locked_by));
    },

    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
}
