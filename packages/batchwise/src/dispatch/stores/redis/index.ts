// The entry "batchwise/dispatch/redis": names only.

export type { IoRedisClient, NodeRedisClient, RedisClient, RedisStoreOptions } from "./options.ts";
export { redisStore } from "./redis-store.ts";
