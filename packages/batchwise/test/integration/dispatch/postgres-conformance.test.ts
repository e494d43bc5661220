// The Postgres store on a real server, against the whole contract.

import { postgresStore } from "batchwise/dispatch/postgres";
import { afterAll, beforeAll } from "vitest";
import { describeStore } from "../../dispatch/conformance.ts";
import { type PostgresService, poolAt, startPostgres } from "../services/postgres.ts";

let server: PostgresService;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server?.stop());

describeStore("the Postgres store", true, async () => {
  const pool = poolAt(await server.place());
  return { open: async () => postgresStore({ pool }), remove: () => pool.end() };
});
