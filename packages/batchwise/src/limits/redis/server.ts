// Calls the script. A call without an answer in time fails; if its answer comes later, its grant is
// returned.

import type { Clock } from "../../core/time/clock.ts";
import { type Script, ScriptedClient } from "../../redis/redis-client.ts";
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

let script: Promise<Script> | null = null;

export class Server {
  readonly #client: ScriptedClient;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #keys: readonly string[];
  readonly #process: string = crypto.randomUUID();
  readonly #rates: readonly string[];
  /** By how many ms the server's clock is ahead of ours; null before the first answer. */
  #aheadMs: number | null = null;

  constructor({ client, clock, key, timeoutMs, callsPerMinute, costPerMinute, burstMs }: ResolvedRedisOptions) {
    this.#client = new ScriptedClient(client);
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
   * Reports that this process is back after `awayMs` with its share. If no process could reach the
   * server, the buckets are emptied and nothing flows in for `graceMs`; otherwise the amount of the
   * share is subtracted.
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
    script ??= hashed(SCRIPT);
    const reply = await this.#client.run(await script, this.#keys, args);
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

  /** Rejects when the time limit has passed; `wasLate` receives an answer that comes later. */
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

/** SHA-1 by Web Crypto, because limiters run in browsers, too. */
async function hashed(text: string): Promise<Script> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text)));
  return { text, hash: Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}
