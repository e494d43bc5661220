// Stores for tests with processes of their own: a place that travels as JSON, and the store that it
// stands for. A process loads the one driver that its place needs: starting is most of what such a
// process does.

import type pg from "pg";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { postgresStore } from "../../../../src/dispatch/stores/postgres/index.ts";
import { redisStore } from "../../../../src/dispatch/stores/redis/index.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";

export type Place =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly config: pg.PoolConfig }
  | { readonly kind: "redis"; readonly port: number; readonly prefix: string };

export interface OpenStore {
  readonly store: Store;
  /** Ends the connections that the store was given. */
  readonly end: () => Promise<unknown>;
}

export async function openStore(place: Place): Promise<OpenStore> {
  if (place.kind === "sqlite") return { store: sqliteStore({ path: place.path }), end: async () => {} };
  if (place.kind === "postgres") {
    const { default: pg } = await import("pg");
    const pool = new pg.Pool(place.config);
    // Idle connections may be cut: the next call takes another one.
    pool.on("error", () => {});
    return { store: postgresStore({ pool }), end: () => pool.end() };
  }
  const { default: ioredis } = await import("ioredis");
  const client = new ioredis.Redis({ host: "127.0.0.1", port: place.port });
  return { store: redisStore({ client, prefix: place.prefix }), end: () => client.quit() };
}
