// The clients of Redis, by the methods that the limiter calls.

/**
 * The part of ioredis that the limiter uses. The client's own types match it; nothing is imported.
 */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /**
   * True: ends the connection and makes another. Called when the server says that it is a replica,
   * because the address may lead to its successor by now.
   */
  disconnect?(reconnect?: boolean): void;
}

/** The part of node-redis that the limiter uses: a connected client or pool of clients. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A client of ioredis or node-redis, by the methods that the limiter calls. */
export type RedisClient = IoRedisClient | NodeRedisClient;
