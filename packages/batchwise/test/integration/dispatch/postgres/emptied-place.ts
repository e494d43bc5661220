// A place for the Postgres store that many tests use one after another: its tables are made once,
// and have the rows of a new store at each test. Making 25 tables and their connections for each of
// hundreds of tests takes longer than the tests.

import { postgresStore } from "batchwise/dispatch/postgres";
import { escapeIdentifier, type Pool } from "pg";
import { afterAll } from "vitest";

interface Place {
  readonly pool: Pool;
  /** Default: the first of the search path. */
  readonly schema?: string;
}

/** Gives the same place at each call, emptied. `make` runs once; the pool ends with the file. */
export function emptiedPlace<Made extends Place>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<{ readonly place: Made; readonly renew: string }> | undefined;
  afterAll(async () => (await made)?.place.pool.end());
  return async () => {
    made ??= make().then(async (place) => ({ place, renew: await renewing(place) }));
    const { place, renew } = await made;
    await place.pool.query(renew);
    return place;
  };
}

/** Makes the tables, and gives the statements that bring back the rows that they have now. */
async function renewing({ pool, schema }: Place): Promise<string> {
  const store = postgresStore({ pool, ...(schema === undefined ? {} : { schema }) });
  await store.now?.();
  await store.close();
  const { rows } = await pool.query<{ readonly name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = ${schema === undefined ? "current_schema()" : "$1"}`,
    schema === undefined ? [] : [schema],
  );
  const inSchema = (name: string): string =>
    [...(schema === undefined ? [] : [schema]), name].map((part) => escapeIdentifier(part)).join(".");
  const first: string[] = [];
  for (const { name } of rows) {
    const kept = await pool.query(`SELECT to_json(t)::text AS row FROM ${inSchema(name)} t`);
    for (const { row } of kept.rows) {
      const text = `'${String(row).replaceAll("'", "''")}'`;
      first.push(`INSERT INTO ${inSchema(name)} SELECT * FROM json_populate_record(NULL::${inSchema(name)}, ${text})`);
    }
  }
  const all = rows.map(({ name }) => inSchema(name)).join(", ");
  return [`TRUNCATE ${all} RESTART IDENTITY`, ...first].join("; ");
}
