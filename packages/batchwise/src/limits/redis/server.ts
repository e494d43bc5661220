// Calls of the script. One that has no answer in time has failed; should it be answered later all
// the same, what it was granted goes back.

import type { Clock } from "../../core/time/clock.ts";
import type { RedisClient } from "./client.ts";
import type { ResolvedRedisOptions } from "./options.ts";
import { SCRIPT } from "./script.ts";

/** What the script answers. */
export interface Reply {
  readonly isGranted: boolean;
  /** The cost granted, or how many milliseconds to wait. */
  readonly value: number;
  /** How many processes were seen in the last ten seconds, this one included. */
  readonly processes: number;
  /**
   * With a grant: for how long the process waits that is first in the line now, in milliseconds. 0:
   * none waits.
   */
  readonly othersWaitMs: number;
  /** True where the question came too late to be answered, which says nothing else. */
  readonly isStale: boolean;
}

/** What two clocks may have gone apart since the last answer. */
const SLACK_MS = 250;

const KEY_NAMES = ["state", "queue", "asks", "seen"];

/** What Redis calls the script. */
let hash: Promise<string> | null = null;

export class Server {
  readonly #client: RedisClient;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #keys: readonly string[];
  readonly #process: string = crypto.randomUUID();
  readonly #rates: readonly string[];
  /** How much the clock of the server shows more than ours; null before the first answer. */
  #aheadMs: number | null = null;

  constructor({ client, clock, key, timeoutMs, callsPerMinute, costPerMinute, burstMs }: ResolvedRedisOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#keys = KEY_NAMES.map((name) => `{${key}}:${name}`);
    this.#rates = [...bucketArguments(callsPerMinute, burstMs, 1), ...bucketArguments(costPerMinute, burstMs, 0)];
  }

  /**
   * Asks for one call of this cost, after a wait of `waitedMs`. Rejects where there is no answer in
   * time.
   */
  ask(cost: number, waitedMs: number): Promise<Reply> {
    return this.#inTime(this.#run("ask", cost, waitedMs), (late) => {
      if (late.isGranted) this.tell("give", 1, late.value);
    });
  }

  /**
   * Asks how many processes there are, and where `isSeen` is counted. Rejects where there is no
   * answer in time.
   */
  look(isSeen: boolean): Promise<Reply> {
    return this.#inTime(this.#run("look", isSeen ? 1 : 0), () => {});
  }

  /**
   * Says that this process is back after `awayMs` with its share. Where the server was gone for
   * all, the buckets are empty, and for `graceMs` nothing flows in; where it was not, what the
   * share came to is taken off.
   */
  back(awayMs: number, graceMs: number, share: number): Promise<Reply> {
    return this.#inTime(this.#run("back", awayMs, graceMs, share), () => {});
  }

  /**
   * Tells something that needs no answer. Where it does not arrive, less is granted than might be.
   */
  tell(operation: "give" | "leave" | "hold", ...values: readonly number[]): void {
    this.#run(operation, ...values).catch(() => {});
  }

  async #run(operation: string, ...values: readonly number[]): Promise<Reply> {
    const args = [operation, this.#process, ...this.#rates, String(this.#expiry()), ...values.map(String)];
    const reply = await this.#evaluate(args);
    const [result, value, processes, now, othersWaitMs = 0] = reply as readonly unknown[];
    if (now !== undefined) this.#aheadMs = Number(now) - this.#clock.now();
    return {
      isGranted: Number(result) === 1,
      isStale: Number(result) === -1,
      value: Number(value),
      processes: Number(processes),
      othersWaitMs: Number(othersWaitMs),
    };
  }

  /**
   * The time of the server until which a question of now may be answered; 0 where that is not
   * known.
   */
  #expiry(): number {
    return this.#aheadMs === null ? 0 : this.#clock.now() + this.#aheadMs + this.#timeoutMs + SLACK_MS;
  }

  async #evaluate(args: readonly string[]): Promise<unknown> {
    const rest = [String(this.#keys.length), ...this.#keys, ...args];
    hash ??= sha1(SCRIPT);
    try {
      return await this.#send("EVALSHA", await hash, ...rest);
    } catch (error) {
      if (begins(error, "READONLY")) this.#leave();
      if (!begins(error, "NOSCRIPT")) throw error;
      // This server does not know the script yet. It remembers it from EVAL. SCRIPT LOAD names no
      // key: a cluster sends it to any of its nodes.
      return this.#send("EVAL", SCRIPT, ...rest);
    }
  }

  /**
   * The client would keep the connection to a server that has become a replica. node-redis has no
   * way to give it up.
   */
  #leave(): void {
    const client = this.#client;
    if ("call" in client) client.disconnect?.(true);
  }

  /** ioredis has a `sendCommand` too, which takes something else: its `call` comes first. */
  async #send(command: string, ...args: string[]): Promise<unknown> {
    const client = this.#client;
    return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
  }

  /** Rejects when the time is over; `wasLate` gets an answer that comes then. */
  #inTime(running: Promise<Reply>, wasLate: (reply: Reply) => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const giveUp = (): void => {
        isOver = true;
        reject(new Error(`Redis has not answered for ${this.#timeoutMs} ms.`));
      };
      // After a long block of this thread the timer comes before the answer that has long been
      // there: another look.
      let timer = this.#clock.setTimeout(() => {
        timer = this.#clock.setTimeout(giveUp, 1);
      }, this.#timeoutMs);
      running.then(
        (reply) => {
          this.#clock.clearTimeout(timer);
          if (isOver) wasLate(reply);
          else resolve(reply);
        },
        (error: unknown) => {
          this.#clock.clearTimeout(timer);
          reject(error);
        },
      );
    });
  }
}

function begins(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}

/** A bucket's rate a millisecond and what it holds; 0 and -1 where there is no limit. */
function bucketArguments(perMinute: number, burstMs: number, least: number): string[] {
  const perMs = perMinute / 60_000;
  return perMs === Number.POSITIVE_INFINITY ? ["0", "-1"] : [String(perMs), String(Math.max(least, perMs * burstMs))];
}

async function sha1(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
