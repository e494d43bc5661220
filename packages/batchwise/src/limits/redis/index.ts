// The entry "batchwise/limits/redis": names only.

export type { IoRedisClient, NodeRedisClient, RedisClient } from "../../redis/redis-client.ts";
export type { RedisRateLimiterOptions } from "./options.ts";
export { redisRateLimiter } from "./redis-rate-limiter.ts";
