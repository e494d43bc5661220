// The options of the Redis store, checked once.

import { aBoolean, check, checkIsObject, refuseUnknown } from "../../../core/contract/validate.ts";
import { A_CLIENT, A_HASH_TAG, type RedisClient } from "../../../redis/redis-client.ts";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * A client of ioredis (with `call`) or of node-redis (with `sendCommand`). The store never closes
   * it.
   */
  readonly client: RedisClient;
  /**
   * Start of every key's hash tag. Stores with different prefixes share nothing. Default
   * "batchwise".
   */
  readonly prefix?: string;
  /**
   * Start on a server that evicts keys of any kind when its memory is full (`maxmemory` with an
   * `allkeys-` policy), which silently loses requests and outcomes. Default false: `start()`
   * rejects with `STORE_EVICTS`.
   */
  readonly allowEviction?: boolean;
}

const DEFAULT_PREFIX = "batchwise";

export function resolveRedisStoreOptions(options: RedisStoreOptions): Required<RedisStoreOptions> {
  checkIsObject("options", options);
  refuseUnknown(options, ["client", "prefix", "allowEviction"]);
  const { client, prefix = DEFAULT_PREFIX, allowEviction = false } = options;
  check("client", A_CLIENT, client);
  check("prefix", A_HASH_TAG, prefix);
  check("allowEviction", aBoolean, allowEviction);
  return { client, prefix, allowEviction };
}
