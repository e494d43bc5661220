// graphile-worker: the task submits. When it resolves, graphile-worker completes the job, which
// deletes it.

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
   * Releases the jobs of every process, so that other workers get them. Call it when no worker
   * runs: graphile-worker itself waits four hours before it considers a process dead.
   */
  unlock(): Promise<void>;
}

export async function graphileQueue(options: Options): Promise<GraphileQueue> {
  const { connection, schema = "graphile_worker", attempts = 3 } = options;
  const pgPool = new pg.Pool(connection);
  pgPool.on("error", () => {});
  // A cut connection is replaced; a failed job's error is in its `last_error`.
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
      // Fetches and completes many jobs at a time; otherwise each takes one or two statements.
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
