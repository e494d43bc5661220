// Calls the script. A call without an answer in time fails; if its answer comes later, its grant is
// returned.

import type { Clock } from "../../core/time/clock.ts";
import type { RedisClient } from "./client.ts";
import type { ResolvedRedisOptions } from "./options.ts";
import { SCRIPT } from "./script.ts";

/** An answer of the script. */
export interface Reply {
  readonly isGranted: boolean;
  /** The granted cost, or a wait in milliseconds. */
  readonly value: number;
  /** Number of processes seen in the last ten seconds, this one included. */
  readonly processes: number;
  /**
   * With a grant: for how many milliseconds the process that is first in the queue waits; 0 if none
   * waits.
   */
  readonly othersWaitMs: number;
  /** True if the request came too late to be answered; the other fields mean nothing then. */
  readonly isStale: boolean;
}

/** Allowed drift between the two clocks since the last answer. */
const SLACK_MS = 250;

const KEY_NAMES = ["state", "queue", "asks", "seen"];

/** Errors of a replica. Its address leads to the new primary sooner or later. */
const REPLICA = /^(?:READONLY|MASTERDOWN)\b/;

/**
 * Errors of a node of a cluster that no longer has the keys. ioredis' `Cluster` itself waits for
 * nodes that are down or are exchanging keys.
 */
const MOVED = /^(?:Too many Cluster redirections\. Last error: (?:\w+: )?)?MOVED\b/;

/** The SHA-1 by which Redis knows the script. */
let hash: Promise<string> | null = null;

export class Server {
  readonly #client: RedisClient;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #keys: readonly string[];
  readonly #process: string = crypto.randomUUID();
  readonly #rates: readonly string[];
  /** By how many ms the server's clock is ahead of ours; null before the first answer. */
  #aheadMs: number | null = null;
  /** True after the client was reconnected because keys had moved, until a call succeeds. */
  #hasLeft = false;

  constructor({ client, clock, key, timeoutMs, callsPerMinute, costPerMinute, burstMs }: ResolvedRedisOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#keys = KEY_NAMES.map((name) => `{${key}}:${name}`);
    this.#rates = [...bucketArguments(callsPerMinute, burstMs, 1), ...bucketArguments(costPerMinute, burstMs, 0)];
  }

  /**
   * Requests one call of this cost, after a wait of `waitedMs`. Rejects if no answer comes in time.
   */
  ask(cost: number, waitedMs: number): Promise<Reply> {
    return this.#inTime(this.#run("ask", cost, waitedMs), (late) => {
      if (late.isGranted) this.tell("give", 1, late.value);
    });
  }

  /**
   * Asks for the number of processes; with `isSeen`, reports this one. Rejects if no answer comes
   * in time.
   */
  look(isSeen: boolean): Promise<Reply> {
    return this.#inTime(this.#run("look", isSeen ? 1 : 0), () => {});
  }

  /**
   * Reports that this process is back after `awayMs` with its share. If the server was gone for all
   * processes, the buckets are emptied and nothing flows in for `graceMs`; otherwise the amount of
   * the share is subtracted.
   */
  back(awayMs: number, graceMs: number, share: number): Promise<Reply> {
    return this.#inTime(this.#run("back", awayMs, graceMs, share), () => {});
  }

  /** Sends a command that needs no answer. If it is lost, less is granted than could be. */
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

  /** The server's time until which a request of now may be answered; 0 if unknown. */
  #expiry(): number {
    return this.#aheadMs === null ? 0 : this.#clock.now() + this.#aheadMs + this.#timeoutMs + SLACK_MS;
  }

  async #evaluate(args: readonly string[]): Promise<unknown> {
    const rest = [String(this.#keys.length), ...this.#keys, ...args];
    hash ??= sha1(SCRIPT);
    try {
      return await this.#send("EVALSHA", await hash, ...rest);
    } catch (error) {
      const words = error instanceof Error ? error.message : "";
      this.#leaveIfWrong(words);
      if (!words.startsWith("NOSCRIPT")) throw error;
      // The server does not know the script yet and learns it from EVAL. SCRIPT LOAD names no key,
      // so a cluster would send it to any node.
      return this.#send("EVAL", SCRIPT, ...rest);
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

  /** Rejects when the time is over; `wasLate` receives an answer that comes later. */
  #inTime(running: Promise<Reply>, wasLate: (reply: Reply) => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const giveUp = (): void => {
        isOver = true;
        reject(new Error(`Redis has not answered for ${this.#timeoutMs} ms.`));
      };
      // After this thread was blocked, the timer fires before an answer that has already arrived,
      // so wait once more.
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

/** A bucket's rate per millisecond and capacity; 0 and -1 without a limit. */
function bucketArguments(perMinute: number, burstMs: number, least: number): string[] {
  const perMs = perMinute / 60_000;
  return perMs === Number.POSITIVE_INFINITY ? ["0", "-1"] : [String(perMs), String(Math.max(least, perMs * burstMs))];
}

async function sha1(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
