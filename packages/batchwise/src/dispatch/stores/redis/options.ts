// The options of the Redis store, checked once.

import { check, checkIsObject, type Rule, refuseUnknown } from "../../../core/contract/validate.ts";

/** The part of ioredis that the store uses. The client's types fit it; none is imported. */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /**
   * With true, closes the connection and opens another. Called when the server is a replica: the
   * address may lead to its successor by now.
   */
  disconnect?(reconnect?: boolean): void;
}

/** The part of node-redis that the store uses: of a connected client or a pool. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A client of ioredis or node-redis: the methods that the store calls. */
export type RedisClient = IoRedisClient | NodeRedisClient;

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

/**
 * A `sendCommand` with more parameters belongs to a cluster or Sentinel, whose first one is a key
 * or a flag.
 */
const A_CLIENT: Rule = {
  expected: "a client of ioredis, or a client or pool of node-redis 5 or later",
  type: "object",
  test: (client: { readonly call?: unknown; readonly sendCommand?: unknown }) =>
    typeof client.call === "function" || (typeof client.sendCommand === "function" && client.sendCommand.length <= 2),
};

export function resolveRedisStoreOptions(options: RedisStoreOptions): Required<RedisStoreOptions> {
  checkIsObject("options", options);
  refuseUnknown(options, ["client", "prefix", "allowEviction"]);
  const { client, prefix = DEFAULT_PREFIX, allowEviction = false } = options;
  check("client", A_CLIENT, client);
  const isName = (name: string): boolean => /^[^{}]+$/.test(name);
  check("prefix", { expected: "a text without braces", type: "string", test: isName }, prefix);
  check("allowEviction", { expected: "true or false", type: "boolean", test: () => true }, allowEviction);
  return { client, prefix, allowEviction };
}
