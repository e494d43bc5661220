// The Postgres store on a real server, against the whole contract.

import { postgresStore } from "batchwise/dispatch/postgres";
import { describeStore } from "../../dispatch/stores/conformance.ts";
import { postgresPlace } from "../services/kept.ts";
import { poolAt } from "../services/postgres.ts";

describeStore("the Postgres store", true, async () => {
  const pool = poolAt(await postgresPlace());
  return { open: async () => postgresStore({ pool }), remove: () => pool.end() };
});
