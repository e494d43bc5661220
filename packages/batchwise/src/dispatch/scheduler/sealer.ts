// Closes batches. Wakes when this process's own enqueues fill a lane, when the oldest request of a lane reaches its age
// limit, and at intervals to see what other processes enqueued. It also ends requests whose deadline has passed, and
// wakes the other loops when their work falls due, because one probe shows all of it.

import type { Account } from "../contract/account.ts";
import { DispatchError, OUTCOME_CODES } from "../contract/errors.ts";
import type { BatchRow, LaneRow, LedgerRow, NewRequest, Probe } from "../contract/rows.ts";
import type { EnqueueResult, SealResult } from "../contract/store.ts";
import { ledgerName, UNRESOLVED } from "../decide/life-cycle.ts";
import { isLanePaused, type Pauses } from "../decide/pauses.ts";
import {
  type AccountChoice,
  batchTokens,
  fullAccounts,
  rankAccounts,
  type Serving,
  servingOf,
} from "../decide/rank-accounts.ts";
import type { NoRoom } from "../decide/shared-ledger.ts";
import { type SealRefusal, type Tail, tailOf } from "../decide/tail.ts";
import {
  batchCaps,
  closesAt,
  DEADLINE_LEAD_MS,
  isFull,
  type LaneCaps,
  type LaneSums,
  laneCaps,
  mostUrgentFirst,
  sumOf,
} from "../decide/thresholds.ts";
import { parseLane, ulid } from "../format/encode.ts";
import { EXPIRED, errorEnding } from "../format/payload.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { Tails } from "./tails.ts";
import { WaitingEvents } from "./waiting-events.ts";
import { noRoomAt, WaitingLanes } from "./waiting-lanes.ts";
import type { Workers } from "./workers.ts";

const FIRST_LOOK_MS = 1_000;
const LAST_LOOK_MS = 30_000;
const EXPIRED_AT_ONCE = 1_000;
const MOST_PROBED = 200_000;
/** The shortest time between two turns that only the clock wakes. */
const LEAST_PAUSE_MS = 20;
const NOTHING: LaneSums = { ready: 0, bytes: 0, tokens: 0 };

type Ledgers = Map<string, LedgerRow>;
type Refusal = Extract<SealResult, { ok: false }>;

export class Sealer {
  readonly #runtime: Runtime;
  readonly #workers: Workers;
  readonly #tails: Tails;
  readonly #waiting: WaitingLanes = new WaitingLanes();
  readonly #told: WaitingEvents;
  /** What the last probe saw, and what this process has added since it was asked. */
  #probed: Map<string, LaneSums> = new Map();
  #added: Map<string, LaneSums> = new Map();
  /** Lanes that were reported because no account serves them. */
  readonly #unserved: Set<string> = new Set();
  #lookMs = FIRST_LOOK_MS;
  #lastSeen = "";
  /** Requests enqueued by then are sealed without waiting for a full batch. */
  #flushedAt = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime, workers: Workers) {
    this.#runtime = runtime;
    this.#workers = workers;
    this.#tails = new Tails(runtime);
    this.#told = new WaitingEvents(runtime);
  }

  /** Closes batches of all requests that wait now. */
  flush(): void {
    this.#flushedAt = this.#runtime.clock.now();
    this.#runtime.sealing.wake();
  }

  /** Counts requests that this process has enqueued (those answered `stored`), and wakes the loop for full lanes. */
  onEnqueued(requests: readonly NewRequest[], answers: readonly EnqueueResult[]): void {
    const { sealing, clock, options } = this.#runtime;
    sealing.wakeAt(clock.now() + options.thresholds.maxAgeMs);
    const lanes = new Map<string, { ready: number; bytes: number; tokens: number }>();
    for (const [index, { lane, bytes, tokens, deadlineAt }] of requests.entries()) {
      if (answers[index] !== "stored") continue;
      if (deadlineAt !== null) sealing.wakeAt(deadlineAt - DEADLINE_LEAD_MS);
      const sums = lanes.get(lane) ?? { ...NOTHING };
      sums.ready += 1;
      sums.bytes += bytes;
      sums.tokens += tokens;
      lanes.set(lane, sums);
    }
    for (const [lane, sums] of lanes) {
      const wasFull = this.#isFull(lane);
      this.#added.set(lane, sumOf(this.#added.get(lane) ?? NOTHING, sums));
      // Only what fills a lane wakes the loop: a lane that is full already waits for room, not for more.
      if (!wasFull && this.#isFull(lane)) sealing.wake();
    }
  }

  /** Requests were stored in a caller's transaction: looks for them in a second, and then less and less often again. */
  expectCommit(): void {
    const { sealing, clock } = this.#runtime;
    this.#lookMs = FIRST_LOOK_MS;
    sealing.wakeAt(clock.now() + FIRST_LOOK_MS);
  }

  /** The loop's turn. */
  readonly turn = async (): Promise<number> => {
    const { store, clock, options, sealing } = this.#runtime;
    if (this.#runtime.isStopping) return Number.POSITIVE_INFINITY;
    this.#added = new Map();
    const now = clock.now();
    const [probe, pauses] = await Promise.all([
      store.probe(Math.min(options.thresholds.maxRequests, MOST_PROBED), now),
      this.#runtime.readPauses(),
    ]);
    this.#probed = new Map(probe.lanes.map((lane) => [lane.lane, lane]));
    this.#waiting.beginTurn();
    this.#wakeForAdded();
    this.#wakeOthers(probe, now);
    this.#told.tellLanes(probe, now);
    await this.#told.tellBatches(probe, now);
    if (await this.#expire(probe, now)) sealing.wake();
    const ledgers: Ledgers = new Map(probe.ledgers.map((ledger) => [ledger.name, ledger]));
    let nextAt = now + this.#lookMs;
    for (const lane of mostUrgentFirst(probe.lanes, options.thresholds.maxAgeMs)) {
      const serving = this.#serving(lane.lane);
      const accounts = serving.usual;
      if (accounts.length === 0) this.#reportUnserved(lane);
      if (accounts.length === 0 || this.#runtime.isStopping) continue;
      const caps = this.#capsOf(lane.lane);
      const at = closesAt(lane, caps, options.thresholds.maxAgeMs, now, this.#flushedAt);
      nextAt = Math.min(nextAt, lane.deadlineAt ?? Number.POSITIVE_INFINITY);
      if (isLanePaused(pauses, lane.lane)) continue;
      if (at > now) nextAt = Math.min(nextAt, at);
      else if (await this.#close(lane, serving, ledgers, pauses)) sealing.wake();
      else nextAt = Math.min(nextAt, unblockedAt(lane, accounts, ledgers, now));
    }
    return Math.max(nextAt, now + LEAST_PAUSE_MS);
  };

  /** Requests stored while the probe ran may fill lanes that the probe did not see full. */
  #wakeForAdded(): void {
    for (const lane of this.#added.keys()) {
      const wasFull = isFull(this.#probed.get(lane) ?? NOTHING, this.#capsOf(lane));
      if (!wasFull && this.#isFull(lane)) this.#runtime.sealing.wake();
    }
  }

  #isFull(lane: string): boolean {
    return isFull(this.#sumsOf(lane), this.#capsOf(lane));
  }

  #capsOf(lane: string): LaneCaps {
    return laneCaps(this.#runtime.options.thresholds, this.#serving(lane).usual, parseLane(lane).inputs);
  }

  #sumsOf(lane: string): LaneSums {
    return sumOf(this.#probed.get(lane) ?? NOTHING, this.#added.get(lane) ?? NOTHING);
  }

  /** Reports once a lane that no account of this process serves: another process may serve it. */
  #reportUnserved({ lane, ready }: LaneRow): void {
    if (this.#unserved.has(lane)) return;
    this.#unserved.add(lane);
    const { endpoint, model } = parseLane(lane);
    const message = `${ready} requests wait for the model "${model}" at ${endpoint}, which no account here serves.`;
    this.#runtime.report(new DispatchError("NO_ACCOUNT", message), { operation: "seal" });
  }

  #serving(lane: string): Serving<Account> {
    return servingOf(this.#runtime.accounts, parseLane(lane));
  }

  /** Wakes the loops at the times that the probe shows. Probes grow rarer while nothing changes. */
  #wakeOthers(probe: Probe, now: number): void {
    const { working, calling, posting } = this.#runtime;
    if (probe.batchDueAt !== null) working.wakeAt(Math.max(now, probe.batchDueAt));
    if (probe.deliveryDueAt !== null) {
      calling.wakeAt(Math.max(now, probe.deliveryDueAt));
      posting.wakeAt(Math.max(now, probe.deliveryDueAt));
    }
    const seen = JSON.stringify([probe.cursor, probe.inBatches, probe.batches, probe.lanes.map(({ ready }) => ready)]);
    this.#lookMs = seen === this.#lastSeen ? Math.min(this.#lookMs * 2, LAST_LOOK_MS) : FIRST_LOOK_MS;
    this.#lastSeen = seen;
  }

  async #expire(probe: Probe, now: number): Promise<boolean> {
    if (!probe.lanes.some(({ deadlineAt }) => deadlineAt !== null && deadlineAt <= now)) return false;
    const change = { kind: "expire", limit: EXPIRED_AT_ONCE, ...EXPIRED } as const;
    const ended = await this.#runtime.store.amend(change, this.#runtime.sinks, now);
    if (ended.length > 0) this.#runtime.outcomesRecorded();
    return ended.length > 0;
  }

  /** Closes one batch of the lane at the best account that takes it. True when the lane should be looked at again. */
  async #close(lane: LaneRow, serving: Serving<Account>, ledgers: Ledgers, pauses: Pauses): Promise<boolean> {
    const accounts = serving.usual;
    const name = parseLane(lane.lane);
    let tooLarge: Refusal["head"] = null;
    const refusals: SealRefusal[] = [];
    const noRoom = new Map<string, NoRoom>();
    const { thresholds } = this.#runtime.options;
    const now = this.#runtime.clock.now();
    const open = accounts.filter(({ name }) => !pauses.accounts.has(name));
    const choices = rankAccounts(open, name, ledgers, now);
    for (const choice of choices) {
      const result = await this.#seal(lane.lane, choice);
      if (result.ok) {
        this.#sealed(lane, choice, result.batch, ledgers);
        return true;
      }
      if (result.reason === "empty") return false;
      if (result.reason === "head_too_large") tooLarge = result.head;
      const { name: account, capabilities } = choice.account;
      const { minRequests } = capabilities.limits;
      // What is kept for another lane is booked, as far as this one can tell.
      const keptElsewhere = this.#waiting.isHeldBack(lane.lane, choice.ledger) ? 1 : 0;
      const booked = keptElsewhere + (ledgers.get(choice.ledger)?.batches ?? 0);
      refusals.push({ account, reason: result.reason, minRequests, booked });
      const answer = { reason: result.reason, booked, headTokens: result.head?.tokens ?? 0 };
      noRoom.set(choice.ledger, noRoomAt(thresholds, name.inputs, choice, answer));
    }
    for (const choice of fullAccounts(open, name, ledgers, now)) {
      const answer = { reason: "full", booked: 1, headTokens: 0 } as const;
      noRoom.set(choice.ledger, noRoomAt(thresholds, name.inputs, choice, answer));
    }
    this.#waiting.refused(lane, noRoom);
    const tail = tailOf(lane, accounts.length, refusals);
    if (tail !== null && (await this.#fallBack(lane, serving.fallback, ledgers, pauses))) return true;
    if (tail !== null) return this.#endTail(lane, tail, choices, ledgers);
    if (tooLarge === null || this.#fitsSomewhere(tooLarge, name.model, accounts, ledgers)) return false;
    await this.#refuse(tooLarge);
    return true;
  }

  /** Gives a tail to the best of the fallback accounts that takes it. False where none does. */
  async #fallBack(lane: LaneRow, fallback: readonly Account[], ledgers: Ledgers, pauses: Pauses): Promise<boolean> {
    const open = fallback.filter(({ name }) => !pauses.accounts.has(name));
    for (const choice of rankAccounts(open, parseLane(lane.lane), ledgers, this.#runtime.clock.now())) {
      const result = await this.#seal(lane.lane, choice);
      if (!result.ok) continue;
      this.#sealed(lane, choice, result.batch, ledgers);
      return true;
    }
    return false;
  }

  #sealed(lane: LaneRow, { ledger }: AccountChoice<Account>, batch: BatchRow, ledgers: Ledgers): void {
    bookOn(ledgers, ledger, batch);
    this.#tails.forget(lane.lane);
    this.#told.tellSealed(lane, batch);
    this.#waiting.sealed(lane.lane);
  }

  /** Tells of the tail and, where `onTail` says so, fails it one by one: what arrives meanwhile may make it a batch. */
  async #endTail(
    lane: LaneRow,
    tail: Tail,
    choices: readonly AccountChoice<Account>[],
    ledgers: Ledgers,
  ): Promise<boolean> {
    this.#tails.tell(lane, tail);
    const choice = choices.find(({ account }) => account.name === tail.account);
    // Requests that only caps or learned limits keep in small batches are not failed: these may change.
    const mayFail = this.#runtime.options.onTail === "fail" && lane.ready < tail.minRequests;
    if (!mayFail || choice === undefined) return false;
    for (let left = lane.ready; left > 0 && !this.#runtime.isStopping; left -= 1) {
      const result = await this.#seal(lane.lane, choice);
      if (result.ok) this.#sealed(lane, choice, result.batch, ledgers);
      if (result.ok || result.reason !== "too_few" || result.head === null) break;
      await this.#tails.fail(result.head.id, lane, tail);
    }
    return true;
  }

  async #seal(lane: string, choice: AccountChoice<Account>): Promise<SealResult> {
    const { store, clock, options } = this.#runtime;
    const { thresholds, owner, leaseMs } = options;
    const { limits } = choice.account.capabilities;
    const caps = batchCaps(thresholds, limits, parseLane(lane).inputs);
    const tokens = batchTokens(caps.maxTokens, choice.tokenLimit);
    const avoidCounts = await this.#countsToAvoid(choice.account);
    const begunAt = clock.monotonic();
    const now = clock.now();
    const input = {
      key: ulid(now, options.random),
      lane,
      account: choice.account.name,
      ledger: choice.ledger,
      limits: this.#waiting.limitsOf(lane, choice),
      ...caps,
      maxTokens: tokens.first,
      minRequests: Math.max(1, limits.minRequests),
      avoidCounts,
      owner,
      leaseUntil: now + leaseMs,
      now,
    };
    let result = await store.seal(input);
    const isTooSmall = !result.ok && (result.reason === "head_too_large" || result.reason === "too_few");
    if (isTooSmall && tokens.most > tokens.first) {
      result = await store.seal({ ...input, maxTokens: tokens.most });
    }
    if (result.ok) await this.#workers.take(result.batch, begunAt);
    return result;
  }

  /** Where a lost create can only be found by its size, no other batch should have that size meanwhile. */
  async #countsToAvoid(account: Account): Promise<number[]> {
    if (account.capabilities.tag !== "none") return [];
    const query = { account: account.name, states: UNRESOLVED, limit: 100 };
    return (await this.#runtime.store.batches(query)).map(({ remaining }) => remaining);
  }

  #fitsSomewhere(
    head: NonNullable<Refusal["head"]>,
    model: string,
    accounts: readonly Account[],
    ledgers: Ledgers,
  ): boolean {
    const { thresholds } = this.#runtime.options;
    return accounts.some(({ name, capabilities }) => {
      const { limits, ledgerScope } = capabilities;
      const learned = ledgers.get(ledgerName(name, ledgerScope, model))?.learnedTokens ?? Number.POSITIVE_INFINITY;
      const mostTokens = Math.min(thresholds.maxTokens, limits.maxTokens, limits.maxEnqueuedTokens, learned);
      return head.tokens <= mostTokens && head.bytes <= Math.min(thresholds.maxBytes, limits.maxBytes);
    });
  }

  /** Fails the first request of a lane when no account can take it, because it would block those behind it. */
  async #refuse(head: NonNullable<Refusal["head"]>): Promise<void> {
    const message = `The request (${head.bytes} bytes, ${head.tokens} tokens) is larger than any account takes now.`;
    const { store, sinks, clock } = this.#runtime;
    const failure = errorEnding({ code: OUTCOME_CODES.tooLarge, message });
    await store.amend({ kind: "fail", ids: [head.id], ...failure }, sinks, clock.now());
    this.#runtime.outcomesRecorded();
  }
}

function bookOn(ledgers: Ledgers, name: string, batch: { readonly tokens: number; readonly requests: number }): void {
  const none = { learnedTokens: null, learnedAt: null, blockedUntil: 0, strikes: 0, note: null };
  const ledger = ledgers.get(name) ?? { name, tokens: 0, requests: 0, batches: 0, ...none };
  const { tokens, requests, batches } = ledger;
  ledgers.set(name, {
    ...ledger,
    tokens: tokens + batch.tokens,
    requests: requests + batch.requests,
    batches: batches + 1,
  });
}

/** When the first of the lane's ledgers is free again. */
function unblockedAt(lane: LaneRow, accounts: readonly Account[], ledgers: Ledgers, now: number): number {
  const { model } = parseLane(lane.lane);
  const names = accounts.flatMap(({ name, capabilities }) => [name, ledgerName(name, capabilities.ledgerScope, model)]);
  const ends = names.map((name) => ledgers.get(name)?.blockedUntil ?? 0).filter((at) => at > now);
  return Math.min(...ends, Number.POSITIVE_INFINITY);
}
