// The clients of Redis that the limiter works with, by the methods that it calls.

/** The part of ioredis that the limiter uses. The client's own types fit it; none is imported. */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /**
   * With true, ends the connection and makes another. Called when the server says that it is a
   * replica: the address may lead to its successor by now.
   */
  disconnect?(reconnect?: boolean): void;
}

/** The part of node-redis that the limiter uses: of a client or a pool of them, connected. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A client of ioredis or node-redis, by the methods that the limiter calls. */
export type RedisClient = IoRedisClient | NodeRedisClient;
