// pg-boss: it fetches up to `batchSize` jobs and calls the handler with all of them. The handler
// submits them together and answers for each job, so that one failed job does not fail the others
// (`perJobResults`).

import pg from "pg";
import { PgBoss } from "pg-boss";
import type { Mail } from "./mail-batcher.ts";
import type { MailQueue, QueueOptions } from "./mail-queue.ts";
import { warnOfJobs } from "./warn-of-jobs.ts";

const NAME = "mails";
/** Independent fetchers: while one's jobs are in a batch, another fetches. */
const FETCHERS = 3;

interface Options extends QueueOptions {
  readonly connection: pg.PoolConfig;
  readonly schema?: string;
}

export async function pgBossQueue(options: Options): Promise<MailQueue> {
  const { connection, schema = "pgboss", attempts = 3, recoverAfterSeconds = 60 } = options;
  const pool = new pg.Pool(connection);
  pool.on("error", (error) => console.error(error.message));
  const db = { executeSql: (sql: string, values?: unknown[]) => pool.query(sql, values) };
  const intervals = { superviseIntervalSeconds: Math.ceil(recoverAfterSeconds / 2) };
  const boss = new PgBoss({ db, schema, ...intervals, monitorIntervalSeconds: intervals.superviseIntervalSeconds });
  boss.on("error", (error) => console.error(error.message));
  await boss.start();
  await boss.createQueue(NAME, { retryLimit: attempts - 1, expireInSeconds: recoverAfterSeconds });
  return {
    async add(mails) {
      await boss.insert(
        NAME,
        mails.map((data) => ({ data })),
      );
    },

    async work(batcher, jobs) {
      warnOfJobs(batcher, jobs);
      const batchSize = Math.ceil(jobs / FETCHERS);
      const fetching = { batchSize, localConcurrency: FETCHERS, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
      await boss.work<Mail, void, typeof fetching & { perJobResults: true }>(
        NAME,
        { ...fetching, perJobResults: true },
        async (fetched) => {
          const outcomes = await batcher.submitSettled(fetched.map(({ data }) => data));
          return fetched.map(({ id }, index) => {
            const outcome = outcomes[index] as PromiseSettledResult<object>;
            if (outcome.status === "fulfilled") return { id, status: "completed", output: outcome.value };
            return { id, status: "failed", output: { message: String(outcome.reason) } };
          });
        },
      );
      return { stop: () => boss.offWork(NAME) };
    },

    async counts() {
      const { rows } = await pool.query(
        `SELECT count(*) FILTER (WHERE state < 'completed')::int AS open,
                count(*) FILTER (WHERE state = 'failed')::int AS failed
         FROM ${schema}.job WHERE name = $1`,
        [NAME],
      );
      return rows[0];
    },

    async close() {
      await boss.stop();
      await pool.end();
    },
  };
}
