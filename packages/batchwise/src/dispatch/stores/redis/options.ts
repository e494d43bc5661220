// The options of the Redis store, checked once.

import { check, checkIsObject, type Rule, refuseUnknown } from "../../../core/contract/validate.ts";
import type { RedisClient } from "./server.ts";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /** A client of ioredis (with its `call`) or of node-redis (with its `sendCommand`). The store never ends it. */
  readonly client: RedisClient;
  /** Start of every key's hash tag: two stores with different ones share nothing. Default "batchwise". */
  readonly prefix?: string;
}

const DEFAULT_PREFIX = "batchwise";

/** A `sendCommand` of more arguments is that of a cluster or of Sentinel: it wants a key or a flag first. */
const A_CLIENT: Rule = {
  expected: "a client of ioredis, or a client or pool of node-redis 5 or later",
  type: "object",
  test: (client: { readonly call?: unknown; readonly sendCommand?: unknown }) =>
    typeof client.call === "function" || (typeof client.sendCommand === "function" && client.sendCommand.length <= 2),
};

export function resolveRedisStoreOptions(options: RedisStoreOptions): Required<RedisStoreOptions> {
  checkIsObject("options", options);
  refuseUnknown(options, ["client", "prefix"]);
  const { client, prefix = DEFAULT_PREFIX } = options;
  check("client", A_CLIENT, client);
  const isName = (name: string): boolean => /^[^{}]+$/.test(name);
  check("prefix", { expected: "a text without braces", type: "string", test: isName }, prefix);
  return { client, prefix };
}
