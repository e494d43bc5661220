// The entry "batchwise/dispatch/redis": names only.

export type { IoRedisClient, NodeRedisClient, RedisClient } from "../../../redis/redis-client.ts";
export type { RedisStoreOptions } from "./options.ts";
export { redisStore } from "./redis-store.ts";
