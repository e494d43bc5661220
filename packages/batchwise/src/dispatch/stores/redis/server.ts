// Calls of the script, and errors in the dispatcher's words. Guarantees that a call runs alone on the server, as a whole
// or not at all; does not repeat one whose answer was lost: its caller does.

import { DispatchError } from "../../contract/errors.ts";
import { scriptOf } from "./script.ts";

/** The part of ioredis that the store uses. The client's own types fit it; none is imported. */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

/** The part of node-redis that the store uses: of a client or a pool of them, connected. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

export type RedisClient = IoRedisClient | NodeRedisClient;

/** What the script answers: texts, whole numbers, nothing, and lists of these. */
export type Reply = string | number | null | readonly Reply[];

export class Server {
  readonly #client: RedisClient;
  readonly #keys: string;
  /** What the server calls the scripts that it knows. */
  readonly #hashes = new Map<string, Promise<string>>();

  constructor(client: RedisClient, prefix: string) {
    this.#client = client;
    this.#keys = `{${prefix}}:`;
  }

  async run(method: string, input: unknown): Promise<Reply> {
    const text = textOf(input);
    try {
      return await this.#call(method, text).catch((error: unknown) => {
        if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
        // The server has started anew: it knows no scripts.
        this.#hashes.clear();
        return this.#call(method, text);
      });
    } catch (error) {
      throw storeError(error);
    }
  }

  async #call(method: string, text: string): Promise<Reply> {
    const hash = await this.#hashOf(scriptOf(method));
    return (await this.#send("EVALSHA", hash, "1", this.#keys, method, text)) as Reply;
  }

  /** ioredis has a `sendCommand` too, which takes something else: its `call` comes first. */
  async #send(command: string, ...args: string[]): Promise<unknown> {
    const client = this.#client;
    return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
  }

  #hashOf(script: string): Promise<string> {
    const known = this.#hashes.get(script);
    if (known !== undefined) return known;
    const hash = this.#load(script);
    this.#hashes.set(script, hash);
    return hash;
  }

  async #load(script: string): Promise<string> {
    try {
      return String(await this.#send("SCRIPT", "LOAD", script));
    } catch (error) {
      this.#hashes.delete(script);
      throw error;
    }
  }
}

function textOf(input: unknown): string {
  try {
    return JSON.stringify(input, finite);
  } catch (error) {
    throw new DispatchError("REQUEST_TOO_LARGE", `One call is too large for Redis: ${messageOf(error)}.`, error);
  }
}

/** JSON has no Infinity: as good as none is the largest number. */
function finite(_key: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : value;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Redis says by the first word what it refuses. Reads go on in all of these but the last. */
function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const reason = messageOf(error);
  switch (/^[A-Z]+/.exec(reason)?.[0]) {
    case "OOM":
      return new DispatchError("STORE_FULL", `Redis has no memory left: ${reason}.`, error);
    case "MISCONF":
      if (reason.includes("No space left")) {
        return new DispatchError("STORE_FULL", `The disk of Redis is full: ${reason}.`, error);
      }
      return new DispatchError("STORE_READ_ONLY", `Redis cannot write to its disk: ${reason}.`, error);
    case "READONLY":
    case "NOREPLICAS":
      return new DispatchError("STORE_READ_ONLY", `Redis cannot be written to: ${reason}.`, error);
    default:
      return new DispatchError("STORE_UNAVAILABLE", `Redis failed: ${reason}.`, error);
  }
}
