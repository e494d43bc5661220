// A client of Redis that the user owns, ioredis or node-redis, for the rate limiter and for the
// dispatcher's store: checks its methods, runs scripts by their hash, and makes it leave a server
// that has become the wrong one. Repeats no call.

import { isError } from "../core/contract/errors.ts";
import type { Rule } from "../core/contract/validate.ts";

/** The part of ioredis that is used. The client's own types match it; nothing is imported. */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /**
   * True: ends the connection and makes another. Called when the server says that it is a replica,
   * because the address may lead to its successor by now.
   */
  disconnect?(reconnect?: boolean): void;
}

/** The part of node-redis that is used: a connected client or pool of clients. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A client of ioredis or node-redis, by the methods that are called. */
export type RedisClient = IoRedisClient | NodeRedisClient;

/**
 * A `sendCommand` with more parameters belongs to a cluster or to Sentinel: its first one is a key
 * or a flag.
 */
export const A_CLIENT: Rule = {
  expected: "a client of ioredis, or a client or pool of node-redis 5 or later",
  type: "object",
  test: (client: { readonly call?: unknown; readonly sendCommand?: unknown }) =>
    typeof client.call === "function" || (typeof client.sendCommand === "function" && client.sendCommand.length <= 2),
};

/** A text for the braces of a key: Redis Cluster chooses the key's node by it. */
export const A_HASH_TAG: Rule = {
  expected: "a text without braces",
  type: "string",
  test: (name: string) => /^[^{}]+$/.test(name),
};

/** A script, and its SHA-1. A server that has run the script finds it by this. */
export interface Script {
  readonly text: string;
  readonly hash: string;
}

/** Errors of a replica. Its address leads to the new primary sooner or later. */
const REPLICA = /^(?:READONLY|MASTERDOWN)\b/;

/**
 * Errors of a cluster node that no longer has the keys, if the client has not found the node that
 * has them. ioredis' `Cluster` itself waits for nodes that are down or are exchanging keys.
 */
const MOVED = /^(?:Too many Cluster redirections\. Last error: (?:\w+: )?)?MOVED\b/;

export function messageOf(error: unknown): string {
  return isError(error) ? error.message : String(error);
}

export class ScriptedClient {
  readonly #client: RedisClient;
  /** True after the client was reconnected because keys had moved, until a call succeeds. */
  #hasLeft = false;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  /** Runs the script on these keys. Rejects with the client's error. */
  async run({ text, hash }: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#send("EVALSHA", hash, ...rest).catch((error: unknown) => {
        if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
        // The server does not know the script yet and learns it from EVAL. SCRIPT LOAD names no
        // key, so a cluster would send it to any node.
        return this.#send("EVAL", text, ...rest);
      });
    } catch (error) {
      this.#leaveIfWrong(messageOf(error));
      throw error;
    }
  }

  /**
   * Reconnects a client that would stay with the wrong server. Its other calls are cut, too.
   * node-redis has no method for this.
   */
  #leaveIfWrong(words: string): void {
    const hasMoved = MOVED.test(words);
    if (hasMoved ? this.#hasLeft : !REPLICA.test(words)) return;
    this.#hasLeft ||= hasMoved;
    const client = this.#client;
    if ("call" in client) client.disconnect?.(true);
  }

  /** ioredis also has a `sendCommand`, with other arguments, so its `call` is preferred. */
  async #send(command: string, ...args: string[]): Promise<unknown> {
    const client = this.#client;
    const answer = await ("call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]));
    this.#hasLeft = false;
    return answer;
  }
}
