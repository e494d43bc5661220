/**
 * The measures of Postgres: the measures of any store, on a separate server; the plain Postgres
 * work for comparison, by the same client; and a fleet on one database.
 */
import type { NewRequest, Store } from "batchwise/dispatch";
import { postgresStore } from "batchwise/dispatch/postgres";
import pg from "pg";
import type { Measurement } from "../harness/child.ts";
import { anyStore } from "./any-store.ts";
import { fleet } from "./fleet.ts";
import { at, type Measures } from "./measures.ts";
import { passingIn } from "./passing.ts";
import { PRUNED, prune } from "./pruning.ts";
import { onPostgres } from "./servers.ts";
import { size } from "./size.ts";
import { BATCH, byCallers, CHUNK, callsOf, NOW, PASSED, payload, requests, seconds } from "./work.ts";

const FLEET = 20_000;
const TABLES = `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
  WHERE relname LIKE 'batchwise%' AND relkind = 'r'`;
const RAW_REQUEST =
  "CREATE TABLE request (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)";
const RAW_RESULT = "CREATE TABLE result (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload TEXT NOT NULL)";

function withPool(work: (pool: pg.Pool) => Promise<Measurement>): Promise<Measurement> {
  return onPostgres(async (place) => {
    const pool = new pg.Pool(place);
    try {
      return await work(pool);
    } finally {
      await pool.end();
    }
  });
}

function inStore(work: (store: Store) => Promise<Measurement>): Promise<Measurement> {
  return withPool(async (pool) => {
    const store = postgresStore({ pool });
    await store.probe(1, NOW);
    const seen = await work(store);
    await store.close();
    return seen;
  });
}

/**
 * The size of all tables, including their free space, after the vacuum that the server itself runs.
 */
async function pruneOnServer(pool: pg.Pool, count: number): Promise<Measurement> {
  const store = postgresStore({ pool });
  await store.probe(1, NOW);
  const seen = await prune(store, count, async () => {
    await pool.query("VACUUM");
    const { rows } = await pool.query<{ bytes: string }>(TABLES);
    return Number(rows[0]?.bytes ?? 0);
  });
  await store.close();
  return seen;
}

/** The size of all tables after a vacuum, and the position of the write-ahead log. */
async function sizeOnServer(pool: pg.Pool, count: number): Promise<Measurement> {
  const store = postgresStore({ pool });
  await store.probe(1, NOW);
  const figure = async (sql: string): Promise<number> => {
    const { rows } = await pool.query<{ bytes: string }>(sql);
    return Number(rows[0]?.bytes ?? 0);
  };
  const seen = await size(store, count, {
    written: () => figure("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes"),
    bytes: async () => {
      await pool.query("VACUUM");
      return figure(TABLES);
    },
  });
  await store.close();
  return seen;
}

async function passingOnServer(pool: pg.Pool, count: number): Promise<Measurement> {
  return passingIn(postgresStore({ pool }), count);
}

async function ingestRaw(pool: pg.Pool, count: number): Promise<Measurement> {
  return insertRaw(pool, callsOf(count));
}

/** With ids that sort by time, like the ids that the dispatcher makes. */
async function ingestRawOrdered(pool: pg.Pool, count: number): Promise<Measurement> {
  return insertRaw(pool, callsOf(count, "ordered"));
}

async function insertRaw(pool: pg.Pool, calls: readonly (readonly NewRequest[])[]): Promise<Measurement> {
  await pool.query(RAW_REQUEST);
  const took = await seconds(async () => {
    for (const call of calls) {
      const columns = [call.map(({ id }) => id), call.map(({ body }) => body)];
      await pool.query("INSERT INTO request (id, body) SELECT * FROM unnest($1::text[], $2::text[])", columns);
    }
  });
  return { perSecond: (calls.length * CHUNK) / took };
}

/** One insert per commit, by as many callers, over a pool of the same size. */
async function singleRaw(pool: pg.Pool, count: number): Promise<Measurement> {
  await pool.query(RAW_REQUEST);
  const took = await byCallers(requests(count), ({ id, body }) =>
    pool.query("INSERT INTO request (id, body) VALUES ($1, $2)", [id, body]),
  );
  return { perSecond: count / took };
}

async function settleRaw(pool: pg.Pool, count: number): Promise<Measurement> {
  await pool.query(RAW_RESULT);
  const took = await seconds(async () => {
    for (let done = 0; done < count; done += CHUNK) {
      const payloads = Array.from({ length: CHUNK }, () => payload);
      await pool.query("INSERT INTO result (payload) SELECT * FROM unnest($1::text[])", [payloads]);
    }
  });
  return { perSecond: count / took };
}

export const measures: Measures = {
  ...at(anyStore, inStore),
  ...at(
    {
      ingestRaw: { run: ingestRaw, count: anyStore.ingest.count },
      ingestRawOrdered: { run: ingestRawOrdered, count: anyStore.ingest.count },
      singleRaw: { run: singleRaw, count: anyStore.single.count },
      settleRaw: { run: settleRaw, count: BATCH },
      prune: { run: pruneOnServer, count: PRUNED },
      size: { run: sizeOnServer, count: BATCH },
      passing: { run: passingOnServer, count: PASSED },
    },
    withPool,
  ),
  ...at({ fleet: { run: fleet, count: FLEET } }, onPostgres),
};
