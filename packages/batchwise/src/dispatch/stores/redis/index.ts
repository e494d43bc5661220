// The entry "batchwise/dispatch/redis": names only.

export type { RedisStoreOptions } from "./options.ts";
export { redisStore } from "./redis-store.ts";
export type { IoRedisClient, NodeRedisClient, RedisClient } from "./server.ts";
