// The Postgres store on a real server, against the whole contract: in the first schema of the
// search path, and in a schema that the pool's search path does not name, with requests that come
// in transactions of the caller's.

import { type PostgresStore, postgresStore } from "batchwise/dispatch/postgres";
import { escapeIdentifier, type Pool, type PoolClient } from "pg";
import { expect } from "vitest";
import type { EnqueueResult } from "../../../../src/dispatch/contract/store/calls.ts";
import type { NewRequest } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { enqueuedMany } from "../../../../src/dispatch/requests/enqueue/enqueued.ts";
import { describeStore } from "../../../dispatch/stores/conformance.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt, query } from "../../services/postgres.ts";
import { emptiedPlace } from "./emptied-place.ts";

const inSearchPath = emptiedPlace(async () => ({ pool: poolAt(await postgresPlace()) }));

describeStore("the Postgres store", true, async () => {
  const { pool } = await inSearchPath();
  return { open: async () => postgresStore({ pool }), remove: async () => {} };
});

const SCHEMA = 'Of "Ours", $1';

const inSchema = emptiedPlace(async () => {
  const { options: _, ...place } = await postgresPlace();
  const schema = `${place.application_name} ${SCHEMA}`;
  await query(place, `CREATE SCHEMA ${escapeIdentifier(schema)}`);
  return { pool: poolAt(place), schema };
});

describeStore("the Postgres store in a schema, enqueued in transactions of the caller's", true, async () => {
  const { pool, schema } = await inSchema();
  return { open: async () => enqueuesWithin(postgresStore({ pool, schema }), pool), remove: async () => {} };
});

/** Enqueues in transactions of its own, on sessions that round figures to twelve digits. */
function enqueuesWithin(store: PostgresStore, pool: Pool): Store {
  const running = new Set<Promise<unknown>>();
  const enqueue = async (requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> => {
    // Makes the tables, so that no call in a transaction needs a second connection.
    await store.now?.();
    const client = await pool.connect();
    try {
      await client.query("BEGIN; SET LOCAL extra_float_digits = -3");
      const answers = await enqueueIn(store, client, requests, now);
      const after = await client.query(
        "SELECT current_setting('search_path') p, current_setting('extra_float_digits') d",
      );
      expect(after.rows).toEqual([{ p: '"$user", public', d: "-3" }]);
      await client.query("COMMIT");
      return answers;
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  };
  return new Proxy<Store>(store, {
    get(_store, name) {
      if (name === "enqueue") {
        return (requests: readonly NewRequest[], now: number) => {
          const call = enqueue(requests, now);
          running.add(call);
          return call;
        };
      }
      if (name === "close") return () => Promise.allSettled(running).then(() => store.close());
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
}

/** As a dispatcher does, without its checks. */
async function enqueueIn(store: PostgresStore, client: PoolClient, requests: readonly NewRequest[], now: number) {
  let answers: readonly EnqueueResult[] = [];
  const leave = store.useIntake({
    check: () => requests,
    enqueue: async (rows, within) => {
      answers = await within.enqueue(rows, now);
      return enqueuedMany([], [], () => "");
    },
  });
  const call = store.enqueueIn(client, []);
  leave();
  await call;
  return answers;
}
