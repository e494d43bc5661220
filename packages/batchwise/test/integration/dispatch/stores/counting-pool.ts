// A pool whose statements are explained before they run: how many rows each reads of the tables,
// whatever it gives.

import type { PostgresPool, PostgresQuery } from "batchwise/dispatch/postgres";
import type { Pool, PoolClient } from "pg";

interface Plan {
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Plan[];
}

/** Rows that a plan has read of the tables. */
function rowsRead(plan: Plan): number {
  const own = ((plan["Actual Rows"] ?? 0) + (plan["Rows Removed by Filter"] ?? 0)) * (plan["Actual Loops"] ?? 1);
  const under = (plan.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), 0);
  return under + (plan["Relation Name"] === undefined ? 0 : own);
}

const STATEMENT = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/;

/** Rows that a statement reads here and now; what it writes is undone. */
async function cost(client: PoolClient, { text, values }: PostgresQuery): Promise<number> {
  await client.query("SAVEPOINT before");
  const explained = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
  await client.query("ROLLBACK TO before");
  const rows = explained.rows as { "QUERY PLAN": { Plan: Plan }[] }[];
  return rowsRead(rows[0]?.["QUERY PLAN"][0]?.Plan ?? {});
}

/** What the statements of some work have read, and how many there were. */
export type CostCounter = (
  work: () => Promise<unknown>,
) => Promise<{ readonly statements: number; readonly read: number }>;

/** A pool for a store, and what counts while its calls run. */
export function countingPool(db: Pool): { readonly pool: PostgresPool; readonly counter: CostCounter } {
  let isCounting = false;
  let [statements, read] = [0, 0];
  const pool: PostgresPool = {
    connect: (done) =>
      db.connect((error, client) => {
        if (client === undefined) return done(error, undefined);
        done(undefined, {
          query: async (query) => {
            if (isCounting && STATEMENT.test(query.text)) {
              statements += 1;
              read += await cost(client, query);
            }
            return client.query(query);
          },
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
          release: (destroy) => client.release(destroy),
        });
      }),
  };
  const counter: CostCounter = async (work) => {
    [statements, read] = [0, 0];
    isCounting = true;
    await work();
    isCounting = false;
    return { statements, read };
  };
  return { pool, counter };
}
