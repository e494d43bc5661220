// The options of the Redis store, checked once.

import { check, checkIsObject, objectWith, refuseUnknown } from "../../../core/contract/validate.ts";
import type { RedisClient } from "./server.ts";

export interface RedisStoreOptions {
  /** A client of ioredis, or one with its `call`. The store never ends it. */
  readonly client: RedisClient;
  /** Start of every key's hash tag: two stores with different ones share nothing. Default "batchwise". */
  readonly prefix?: string;
}

const DEFAULT_PREFIX = "batchwise";

export function resolveRedisStoreOptions(options: RedisStoreOptions): Required<RedisStoreOptions> {
  checkIsObject("options", options);
  refuseUnknown(options, ["client", "prefix"]);
  const { client, prefix = DEFAULT_PREFIX } = options;
  check("client", objectWith("call"), client);
  const isName = (name: string): boolean => /^[^{}]+$/.test(name);
  check("prefix", { expected: "a text without braces", type: "string", test: isName }, prefix);
  return { client, prefix };
}
