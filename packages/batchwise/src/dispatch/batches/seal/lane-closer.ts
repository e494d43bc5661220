// Seals one batch of a lane at the best account that accepts it: first-choice accounts, then
// second-choice ones, which are fallback accounts for tails and all others for urgent requests.
// Fails requests that no account accepts: tails, by `onTail`, and requests too large for all.
// sealer.ts decides when a lane is due.

import type { Openness } from "../../accounts/lane-health.ts";
import { outageOn } from "../../accounts/outage.ts";
import { opennessOf } from "../../accounts/pauses.ts";
import { type AccountChoice, rankAccounts, type Serving } from "../../accounts/rank-accounts.ts";
import type { Account } from "../../contract/account.ts";
import { OUTCOME_CODES } from "../../contract/errors.ts";
import type { SealResult } from "../../contract/store/calls.ts";
import type { LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { parseLane } from "../../format/encode.ts";
import { errorEnding } from "../../format/payload.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Workers } from "../workers.ts";
import { AccountSealer, minimumOf } from "./account-sealer.ts";
import { isLeft, lacksMoney, type Tail, tailOf } from "./tail.ts";
import { failOfTail, forgetTail, tellTail } from "./tails.ts";
import { DEADLINE_LEAD_MS } from "./thresholds.ts";
import type { WaitingEvents } from "./waiting-events.ts";
import { type Refusal, refusalOf, WaitingLanes } from "./waiting-lanes.ts";

export type Ledgers = Map<string, LedgerRow>;
type Head = Extract<SealResult, { ok: false }>["head"];

/** Why each of the accounts did not take a lane's next batch. */
interface Refused {
  readonly refusals: readonly Refusal[];
  /** The first request of the lane, if it is too large for an account; else null. */
  readonly tooLarge: Head;
}

/** `unpaid`: the lane's next request costs more than its payers have left. */
type Answer = { readonly kind: "sealed" | "empty" | "unpaid" } | { readonly kind: "refused"; readonly why: Refused };

export class LaneCloser {
  readonly #runtime: Runtime;
  readonly #sealer: AccountSealer;
  readonly #told: WaitingEvents;
  readonly #waiting: WaitingLanes = new WaitingLanes();

  constructor(runtime: Runtime, workers: Workers, told: WaitingEvents) {
    this.#runtime = runtime;
    this.#sealer = new AccountSealer(runtime, workers, this.#waiting);
    this.#told = told;
  }

  /** Called at the start of each turn of the sealer. */
  beginTurn(): void {
    this.#waiting.beginTurn();
  }

  /**
   * Seals one batch of the lane at the best account that accepts it. Returns true if the lane
   * should be tried again. `preferred`: tried before the other accounts of the lane.
   */
  async close(
    lane: LaneRow,
    serving: Serving<Account>,
    ledgers: Ledgers,
    preferred: Account | null = null,
  ): Promise<boolean> {
    let answer = await this.#ask(lane, preferred === null ? serving.first : [preferred], ledgers);
    if (answer.kind === "refused" && preferred !== null) {
      const others = serving.first.filter((account) => account !== preferred);
      answer = joined(answer.why, await this.#ask(lane, others, ledgers));
    }
    if (answer.kind === "refused" && this.#leaves(lane, serving, answer.why)) {
      answer = joined(answer.why, await this.#ask(lane, serving.second, ledgers));
    }
    const accounts = [...serving.first, ...serving.second];
    if (answer.kind === "refused" && !lacksMoney(accounts.map(minimumOf), answer.why.refusals))
      return this.#endLeft(lane, accounts, answer.why, ledgers);
    if (answer.kind === "refused" || answer.kind === "unpaid") await this.#tellOfLimit(lane.lane);
    return answer.kind === "sealed";
  }

  /** Fails requests that no account will ever accept. False if none failed. */
  async #endLeft(
    lane: LaneRow,
    accounts: readonly Account[],
    { refusals, tooLarge }: Refused,
    ledgers: Ledgers,
  ): Promise<boolean> {
    this.#waiting.refused(lane, refusals);
    const tail = tailOf(lane, accounts.length, refusals);
    if (tail !== null) return this.#endTail(lane, tail, refusals, ledgers);
    if (tooLarge === null || this.#fitsSomewhere(tooLarge, accounts)) return false;
    await this.#refuse(tooLarge);
    return true;
  }

  /** False if no account has room, or the lane waits for money, as far as that is known. */
  async mayTake(lane: LaneRow, accounts: readonly Account[], ledgers: Ledgers): Promise<boolean> {
    const now = this.#runtime.clock.now();
    const open = this.#open(lane, accounts, ledgers, now);
    if (rankAccounts(open, parseLane(lane.lane), ledgers, now).every(({ isFull }) => isFull)) return false;
    return !(await this.#runtime.limits.isStopped(lane.lane));
  }

  /** Seals the announced batch `key` at one of these accounts. Never fails a request. */
  async closeAt(lane: LaneRow, accounts: readonly Account[], ledgers: Ledgers, key: string): Promise<boolean> {
    const { kind } = await this.#ask(lane, accounts, ledgers, key);
    return kind === "sealed";
  }

  /** Seals the lane's next batch at the first of the accounts that takes it. */
  async #ask(
    lane: LaneRow,
    accounts: readonly Account[],
    ledgers: Ledgers,
    key: string | null = null,
  ): Promise<Answer> {
    const refusals: Refusal[] = [];
    let tooLarge: Head = null;
    const { thresholds } = this.#runtime.options;
    const name = parseLane(lane.lane);
    const now = this.#runtime.clock.now();
    const open = this.#open(lane, accounts, ledgers, now);
    const { troubles } = this.#runtime;
    const isLast = (choice: AccountChoice<Account>): number => Number(troubles.isAvoided(choice.account.name));
    const ranked = rankAccounts(open, name, ledgers, now).sort((a, b) => isLast(a) - isLast(b));
    for (const choice of ranked) {
      if (choice.isFull) {
        const answer = { reason: "full", booked: 1, headTokens: 0 } as const;
        refusals.push(refusalOf(thresholds, name.inputs, choice, answer));
        continue;
      }
      const result = await this.#sealer.seal(
        lane.lane,
        choice,
        this.#opennessAt(lane, choice.account, now) === "probe",
        key,
      );
      if (result.ok) {
        this.#sealed(lane, choice, result.batch, ledgers);
        return { kind: "sealed" };
      }
      if (result.reason === "empty") return { kind: "empty" };
      if (result.reason === "price_limit" && minimumOf(choice.account).minRequests === 1) return { kind: "unpaid" };
      if (result.reason === "head_too_large") tooLarge = result.head;
      // Room held back for another lane counts as booked.
      const keptElsewhere = this.#waiting.isHeldBack(lane.lane, choice.ledger) ? 1 : 0;
      const booked = keptElsewhere + (ledgers.get(choice.ledger)?.batches ?? 0);
      const answer = { reason: result.reason, booked, headTokens: result.head?.tokens ?? 0 };
      refusals.push(refusalOf(thresholds, name.inputs, choice, answer));
    }
    return { kind: "refused", why: { refusals, tooLarge } };
  }

  #open(lane: LaneRow, accounts: readonly Account[], ledgers: Ledgers, now: number): Account[] {
    const isClosed = (account: Account): boolean => this.#opennessAt(lane, account, now) === "closed";
    return accounts.filter((account) => !isClosed(account) && !isOnTrial(account, ledgers, now));
  }

  /** By the pauses as last read; a probe sent in this turn is already in them. */
  #opennessAt({ lane }: LaneRow, { name: account }: Account, now: number): Openness {
    return opennessOf(this.#runtime.lastPauses, { ...parseLane(lane), account }, now);
  }

  /** Stops the lane at its spending limit, and reports that once. */
  async #tellOfLimit(lane: string): Promise<void> {
    const error = await this.#runtime.limits.stop(lane);
    if (error !== null) this.#runtime.report(error, { operation: "seal" });
  }

  /** True if the second-choice accounts should be tried. */
  #leaves(lane: LaneRow, { first }: Serving<Account>, { refusals }: Refused): boolean {
    if (!parseLane(lane.lane).urgent) return isLeft(lane, first.length, refusals);
    // Waits if a first-choice account will have room. Any other refusal may be permanent.
    const waits = refusals.some(({ reason }) => reason === "full" || reason === "no_headroom");
    const isLastMinute = lane.deadlineAt !== null && lane.deadlineAt - DEADLINE_LEAD_MS <= this.#runtime.clock.now();
    return !waits || isLastMinute;
  }

  #sealed(lane: LaneRow, { ledger }: AccountChoice<Account>, batch: BatchRow, ledgers: Ledgers): void {
    bookOn(ledgers, ledger, batch);
    forgetTail(this.#runtime, lane.lane);
    this.#runtime.limits.sealed(lane.lane);
    this.#told.tellSealed(lane, batch);
    this.#waiting.sealed(lane.lane);
  }

  /**
   * Reports the tail and, with `onTail: "fail"`, fails its requests one by one, because new
   * requests may complete a batch meanwhile.
   */
  async #endTail(lane: LaneRow, tail: Tail, refusals: readonly Refusal[], ledgers: Ledgers): Promise<boolean> {
    tellTail(this.#runtime, lane, tail);
    const choice = refusals.find(({ account }) => account === tail.account)?.choice;
    // Requests that only caps or learned limits keep in small batches are not failed: these may
    // change.
    const mayFail = this.#runtime.options.onTail === "fail" && lane.ready < tail.minRequests;
    if (!mayFail || choice === undefined) return false;
    for (let left = lane.ready; left > 0 && !this.#runtime.isStopping; left -= 1) {
      const result = await this.#sealer.seal(lane.lane, choice);
      if (result.ok) this.#sealed(lane, choice, result.batch, ledgers);
      if (result.ok || result.reason !== "too_few" || result.head === null) break;
      await failOfTail(this.#runtime, result.head.id, lane, tail);
    }
    return true;
  }

  /** Ignores learned limits: they may be wrong, so they never fail a request. */
  #fitsSomewhere(head: NonNullable<Head>, accounts: readonly Account[]): boolean {
    const { thresholds } = this.#runtime.options;
    return accounts.some(({ capabilities: { limits } }) => {
      const mostTokens = Math.min(thresholds.maxTokens, limits.maxTokens, limits.maxEnqueuedTokens);
      return head.tokens <= mostTokens && head.bytes <= Math.min(thresholds.maxBytes, limits.maxBytes);
    });
  }

  /**
   * Fails the first request of a lane when no account can take it, because it would block those
   * behind it.
   */
  async #refuse(head: NonNullable<Head>): Promise<void> {
    const message = `The request (${head.bytes} bytes, ${head.tokens} tokens) is larger than any account takes now.`;
    const { store, sinks, clock } = this.#runtime;
    const failure = errorEnding({ code: OUTCOME_CODES.tooLarge, message });
    await store.amend({ kind: "fail", ids: [head.id], ...failure }, sinks, clock.now());
    this.#runtime.outcomesRecorded();
  }
}

/** The second answer; if it is a refusal, merged with the first. */
function joined(first: Refused, second: Answer): Answer {
  if (second.kind !== "refused") return second;
  const { refusals, tooLarge } = second.why;
  const why = { refusals: [...first.refusals, ...refusals], tooLarge: tooLarge ?? first.tooLarge };
  return { kind: "refused", why };
}

/**
 * True for a fallback account that refuses batches, until it is known to take them again: its
 * requests can go elsewhere.
 */
function isOnTrial({ name, capabilities }: Account, ledgers: Ledgers, now: number): boolean {
  if (capabilities.fallback !== true) return false;
  return (outageOn(ledgers.get(name), now)?.holdUntil ?? 0) > now;
}

function bookOn(ledgers: Ledgers, name: string, batch: { readonly tokens: number; readonly requests: number }): void {
  const none = { learnedTokens: null, learnedAt: null, blockedUntil: 0, strikes: 0, note: null, outage: null };
  const ledger = ledgers.get(name) ?? { name, tokens: 0, requests: 0, batches: 0, ...none };
  const { tokens, requests, batches } = ledger;
  ledgers.set(name, {
    ...ledger,
    tokens: tokens + batch.tokens,
    requests: requests + batch.requests,
    batches: batches + 1,
  });
}
