// Seals one batch of a lane at one account, as large as its limits allow now. lane-closer.ts
// decides which account that is.

import { withProbe } from "../../accounts/lane-health.ts";
import { type AccountChoice, batchTokens } from "../../accounts/rank-accounts.ts";
import { changeHealth } from "../../accounts/record-lane-health.ts";
import type { Account } from "../../contract/account.ts";
import type { SealInput, SealResult } from "../../contract/store/calls.ts";
import { parseLane, ulid } from "../../format/encode.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { UNRESOLVED } from "../life-cycle.ts";
import type { Workers } from "../workers.ts";
import { batchCaps } from "./thresholds.ts";
import type { WaitingLanes } from "./waiting-lanes.ts";

type Refusal = Extract<SealResult, { ok: false }>;

export class AccountSealer {
  readonly #runtime: Runtime;
  readonly #workers: Workers;
  readonly #waiting: WaitingLanes;

  constructor(runtime: Runtime, workers: Workers, waiting: WaitingLanes) {
    this.#runtime = runtime;
    this.#workers = workers;
    this.#waiting = waiting;
  }

  /**
   * `isProbe`: of as few requests as the account takes, to find out whether it takes the lane
   * again.
   */
  async seal(
    lane: string,
    choice: AccountChoice<Account>,
    isProbe = false,
    key: string | null = null,
  ): Promise<SealResult> {
    const { store, clock, options, storeTime } = this.#runtime;
    const { thresholds, owner, leaseMs } = options;
    const { limits } = choice.account.capabilities;
    const { inputs, payers } = parseLane(lane);
    const caps = batchCaps(thresholds, limits, inputs);
    const movable = this.#runtime.mostBytes(choice.account.name);
    const tokens = batchTokens(caps.maxTokens, choice.tokenLimit);
    const { minRequests } = minimumOf(choice.account);
    const avoidCounts = await this.#countsToAvoid(choice.account);
    await storeTime.measure();
    const begunAt = clock.monotonic();
    const now = clock.now();
    const input = {
      key: key ?? ulid(now, options.random),
      lane,
      account: choice.account.name,
      ledger: choice.ledger,
      limits: this.#waiting.limitsOf(lane, choice),
      ...caps,
      maxBytes: Math.min(caps.maxBytes, movable),
      maxTokens: tokens.first,
      minRequests,
      ...(isProbe ? { maxRequests: minRequests } : {}),
      avoidCounts,
      ...(payers.length > 0 ? { payers } : {}),
      owner,
      leaseUntil: now + storeTime.aheadMs + leaseMs,
      now,
    };
    let result = await store.seal(input);
    const isTooSmall = !result.ok && (result.reason === "head_too_large" || result.reason === "too_few");
    if (isTooSmall && (tokens.most > tokens.first || movable < caps.maxBytes)) {
      // As few as may go, where these are more than the time is enough for.
      const fewest = movable < caps.maxBytes ? { maxBytes: caps.maxBytes, maxRequests: minRequests } : {};
      result = await store.seal({ ...input, maxTokens: tokens.most, ...fewest });
    }
    if (!result.ok && result.reason === "head_too_large" && result.head !== null) {
      const whole = { ...input, maxBytes: caps.maxBytes };
      result = await this.#sealAlone(whole, result.head, choice, caps.maxTokens, result);
    }
    if (result.ok && isProbe) {
      const place = { ...parseLane(lane), account: choice.account.name };
      await changeHealth(this.#runtime, place, input.key, (health) => withProbe(health, input.key, now));
    }
    if (result.ok) await this.#workers.take(result.batch, begunAt);
    return result;
  }

  /**
   * Seals a request that exceeds a learned limit in a batch of its own: the limit may be wrong, and
   * the request must not block those behind it.
   */
  async #sealAlone(
    input: SealInput,
    head: NonNullable<Refusal["head"]>,
    choice: AccountChoice<Account>,
    maxTokens: number,
    refused: SealResult,
  ): Promise<SealResult> {
    const told = choice.limits.tokens;
    const isLearned = head.tokens <= Math.min(maxTokens, told) && head.bytes <= input.maxBytes;
    if (!isLearned || choice.account.capabilities.limits.minRequests > 1) return refused;
    const limits = this.#waiting.limitsOf(input.lane, { ...choice, tokenLimit: told });
    return this.#runtime.store.seal({ ...input, limits, maxTokens, minRequests: 1, maxRequests: 1 });
  }

  /**
   * Where a lost create can only be found by its size, no other batch should have that size
   * meanwhile.
   */
  async #countsToAvoid(account: Account): Promise<number[]> {
    if (account.capabilities.tag !== "none") return [];
    const query = { account: account.name, states: UNRESOLVED, limit: 100 };
    return (await this.#runtime.store.batches(query)).map(({ remaining }) => remaining);
  }
}

export function minimumOf({ name, capabilities: { limits } }: Account): {
  readonly name: string;
  readonly minRequests: number;
} {
  return { name, minRequests: Math.max(1, limits.minRequests) };
}
