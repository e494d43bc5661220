// Decides when lanes close their batches; lane-closer.ts closes them. Wakes when this process's
// enqueues fill a lane, when the oldest request of a lane reaches its age limit, and at intervals
// to see enqueues of other processes. Also ends expired requests, and wakes the other loops when
// their work is due, because one probe shows all of it.

import { outageOn } from "../../accounts/outage.ts";
import { isLanePaused, opennessOf, type Pauses } from "../../accounts/pauses.ts";
import { fewestOf, type Serving, servingOf } from "../../accounts/rank-accounts.ts";
import type { Account } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { LaneRow, Probe } from "../../contract/store/probe.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import { isStoreError } from "../../format/client-error.ts";
import { parseLane } from "../../format/encode.ts";
import { EXPIRED } from "../../format/payload.ts";
import { noteLoops } from "../../runtime/loops-mark.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { ledgerName } from "../life-cycle.ts";
import type { Workers } from "../workers.ts";
import { cacheLaneOf } from "./cache-lanes.ts";
import { CachePriming, type Held } from "./cache-priming.ts";
import { Flushes } from "./flushes.ts";
import { LaneCloser, type Ledgers } from "./lane-closer.ts";
import { type Look, lookAtDeadlines, moveBefore } from "./near-deadlines.ts";
import {
  closesAt,
  DEADLINE_LEAD_MS,
  isFull,
  type LaneCaps,
  type LaneSums,
  laneCaps,
  mostUrgentFirst,
  sumOf,
} from "./thresholds.ts";
import { WaitingEvents } from "./waiting-events.ts";

const FIRST_LOOK_MS = 1_000;
const LAST_LOOK_MS = 30_000;
const EXPIRED_AT_ONCE = 1_000;
const MOST_PROBED = 200_000;
/** Minimum time between two turns that only the clock wakes, in ms. */
const LEAST_PAUSE_MS = 20;
const TOO_FEW_MS = 60_000;
const NOTHING: LaneSums = { ready: 0, bytes: 0, tokens: 0 };

export class Sealer {
  readonly #runtime: Runtime;
  readonly #closer: LaneCloser;
  readonly #priming: CachePriming;
  readonly #told: WaitingEvents;
  /** The last probe's lanes, plus this process's enqueues since. */
  #probed: Map<string, LaneSums> = new Map();
  #added: Map<string, LaneSums> = new Map();
  #lookMs = FIRST_LOOK_MS;
  #lastSeen = "";
  readonly flushes: Flushes;
  /** When each lane must be checked again, from the last turn. */
  readonly #looks: Map<string, number> = new Map();
  /** Lanes whose late requests were too few for each account, and when they are counted again. */
  readonly #tooFewUntil: Map<string, number> = new Map();

  constructor(runtime: Runtime, workers: Workers, flushes: Flushes = new Flushes()) {
    this.#runtime = runtime;
    this.flushes = flushes;
    this.#told = new WaitingEvents(runtime);
    this.#closer = new LaneCloser(runtime, workers, this.#told);
    this.#priming = new CachePriming(runtime, this.#closer);
  }

  /** Seals all waiting requests, or those of these lanes. */
  flush(lanes?: readonly string[]): void {
    this.flushes.add(this.#runtime.clock.now(), lanes);
    this.#runtime.sealing.wake();
  }

  /**
   * Counts requests that this process has enqueued (those answered `stored`), and wakes the loop
   * for full lanes.
   */
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
      // Only a lane that becomes full wakes the loop: a lane that was full already waits for
      // capacity, not for requests.
      if (!wasFull && this.#isFull(lane)) sealing.wake();
    }
  }

  /**
   * Requests were stored in a caller's transaction: looks for them in a second, then at growing
   * intervals.
   */
  expectCommit(): void {
    const { sealing, clock } = this.#runtime;
    this.#lookMs = FIRST_LOOK_MS;
    sealing.wakeAt(clock.now() + FIRST_LOOK_MS);
  }

  /** When the lane closes a batch, as far as this process knows. */
  closesAt(lane: LaneRow, now: number): number {
    const { maxAgeMs } = this.#runtime.options.thresholds;
    const alone = (one: LaneRow): number =>
      closesAt(one, this.#capsOf(one.lane), maxAgeMs, now, this.#flushedAt(one.lane));
    return this.#priming.closesAt(lane, alone, now) ?? alone(lane);
  }

  /** Callers name the base lane, without the suffix of requests that share a cache. */
  #flushedAt(lane: string): number {
    const lanes = [lane, cacheLaneOf(lane)?.base ?? lane];
    return Math.max(...lanes.flatMap((one) => [this.flushes.lastOf(one), this.#runtime.flushedAt(one)]));
  }

  /**
   * When the lane is due, after a last turn that found nothing more to do: later than `closesAt` if
   * no account takes it before. null for a lane that the turn has not seen.
   */
  lookedAt(lane: string): number | null {
    return this.#looks.get(lane) ?? null;
  }

  /** The loop's turn. */
  readonly turn = async (): Promise<number> => {
    const { store, clock, options, sealing, limits } = this.#runtime;
    if (this.#runtime.isStopping) return Number.POSITIVE_INFINITY;
    this.#added = new Map();
    await limits.keep();
    const now = clock.now();
    const limit = Math.min(options.thresholds.maxRequests, MOST_PROBED);
    const probe = await store.probe(limit, now);
    // Read later than the lanes: requests sent ahead by another process are announced in a mark.
    const pauses = await this.#runtime.readPauses();
    await noteLoops(this.#runtime, now);
    this.#probed = new Map(probe.lanes.map((lane) => [lane.lane, lane]));
    this.#closer.beginTurn();
    this.#runtime.prospects.beginTurn(probe.lanes);
    await this.#priming.beginTurn(probe.lanes, now);
    this.#looks.clear();
    for (const [lane, until] of this.#tooFewUntil) if (until <= now) this.#tooFewUntil.delete(lane);
    this.#wakeForAdded();
    this.#wakeOthers(probe, now);
    this.#told.tellLanes(probe, limit, now);
    await this.#told.tellBatches(probe, now);
    if (await this.#expire(probe, now)) sealing.wake();
    const ledgers: Ledgers = this.#runtime.troubles.lookPast(probe.ledgers);
    let nextAt = now + this.#lookMs;
    const faults: unknown[] = [];
    for (const lane of mostUrgentFirst(probe.lanes, options.thresholds.maxAgeMs)) {
      if (this.#runtime.isStopping) break;
      try {
        const at = await this.#lookAt(lane, ledgers, pauses, now);
        this.#looks.set(lane.lane, at);
        nextAt = Math.min(nextAt, at);
      } catch (error) {
        if (isStoreError(error)) throw error;
        faults.push(error);
      }
    }
    // A mistake in one lane delays no other.
    if (faults.length > 0) throw faults[0];
    return Math.max(nextAt, now + LEAST_PAUSE_MS);
  };

  /**
   * Closes a batch of the lane if it is time. Returns when it must be checked again; wakes the loop
   * if that is at once.
   */
  async #lookAt(lane: LaneRow, ledgers: Ledgers, pauses: Pauses, now: number): Promise<number> {
    const serving = this.#serving(lane.lane);
    if (serving.first.length === 0) {
      this.#reportUnserved(lane);
      return Number.POSITIVE_INFINITY;
    }
    const deadlineAt = lane.deadlineAt ?? Number.POSITIVE_INFINITY;
    if (isLanePaused(pauses, lane.lane)) return deadlineAt;
    let look = await lookAtDeadlines(this.#runtime, lane, serving, ledgers);
    if (look.kind === "move") {
      if (await this.#rescue(lane, look.before, look.most, serving, now)) return deadlineAt;
      look = { kind: "wait", until: this.#tooFewUntil.get(lane.lane) ?? now };
    }
    const held = this.#priming.held(lane, now);
    if (held !== null) return this.#hold(lane, look, held);
    const at = this.#needsProbe(lane, serving, now) ? now : this.closesAt(lane, now);
    if (look.kind === "wait" && at > now) return Math.min(deadlineAt, at, look.until);
    const isClosed =
      (await this.#priming.send(lane, serving, ledgers, now)) ||
      (await this.#closer.close(lane, serving, ledgers, this.#priming.warm(lane, serving, now)));
    if (isClosed) this.#runtime.sealing.wake();
    else if (look.kind === "close" && deadlineAt < look.before)
      await this.#rescue(lane, look.before, look.most, serving, now);
    else return Math.min(deadlineAt, openAgainAt(lane, serving, ledgers, now));
    return deadlineAt;
  }

  /**
   * Moves late requests to the urgent lane. False if they are too few for each account: then they
   * stay with the others of their lane, for a minute at least.
   */
  async #rescue(
    lane: LaneRow,
    before: number,
    most: number,
    { first, second }: Serving<Account>,
    now: number,
  ): Promise<boolean> {
    if (this.#tooFewUntil.has(lane.lane)) return false;
    const isMoved = await moveBefore(this.#runtime, lane, before, most, { least: fewestOf([...first, ...second]) });
    if (!isMoved) this.#tooFewUntil.set(lane.lane, now + TOO_FEW_MS);
    return isMoved;
  }

  /** The lane waits for a cache: only requests whose deadline is too near for that go. */
  async #hold(lane: LaneRow, look: Look, held: Held): Promise<number> {
    const deadlineAt = lane.deadlineAt ?? Number.POSITIVE_INFINITY;
    const before = look.kind === "close" ? Math.max(held.before, look.before) : held.before;
    if (deadlineAt < before) await moveBefore(this.#runtime, lane, before, Number.POSITIVE_INFINITY, { to: held.to });
    return Math.min(deadlineAt, held.until, look.kind === "wait" ? look.until : Number.POSITIVE_INFINITY);
  }

  /** True if the lane may only send a probe of one request, because no account accepts more. */
  #needsProbe({ lane }: LaneRow, { first }: Serving<Account>, now: number): boolean {
    const { lastPauses } = this.#runtime;
    if (lastPauses.healths.size === 0) return false;
    const states = first.map(({ name: account }) => opennessOf(lastPauses, { ...parseLane(lane), account }, now));
    return states.includes("probe") && !states.includes("open");
  }

  /** Requests stored during the probe may fill lanes that the probe did not see full. */
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
    return laneCaps(this.#runtime.options.thresholds, this.#serving(lane).first, parseLane(lane).inputs);
  }

  #sumsOf(lane: string): LaneSums {
    return sumOf(this.#probed.get(lane) ?? NOTHING, this.#added.get(lane) ?? NOTHING);
  }

  /** Reports once a lane that no account of this process serves: another process may serve it. */
  #reportUnserved({ lane, ready }: LaneRow): void {
    const { endpoint, model } = parseLane(lane);
    const requests = ready === 1 ? "1 request waits" : `${ready} requests wait`;
    const message = `${requests} for the model "${model}" at ${endpoint}, which no account here serves.`;
    this.#runtime.reportOnce(`unserved ${lane}`, new DispatchError("NO_ACCOUNT", message), { operation: "seal" });
  }

  #serving(lane: string): Serving<Account> {
    return servingOf(this.#runtime.accounts, parseLane(lane));
  }

  /**
   * Wakes the loops at the times that the probe shows. Probes become rarer while nothing changes.
   */
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
}

/**
 * When one of the lane's accounts may accept it, if none does now: a ledger becomes free, or the
 * deadline is near.
 */
function openAgainAt(lane: LaneRow, { first, second }: Serving<Account>, ledgers: Ledgers, now: number): number {
  const { model } = parseLane(lane.lane);
  const names = [...first, ...second].flatMap(({ name, capabilities }) => [
    name,
    ledgerName(name, capabilities.ledgerScope, model),
  ]);
  const ends = names.flatMap((name) => {
    const ledger = ledgers.get(name);
    return ledger === undefined ? [] : [ledger.blockedUntil, outageOn(ledger, now)?.holdUntil ?? 0];
  });
  const lastMinute = second.length === 0 ? [] : [(lane.deadlineAt ?? 0) - DEADLINE_LEAD_MS];
  return Math.min(...[...ends, ...lastMinute].filter((at) => at > now), Number.POSITIVE_INFINITY);
}
