// Sends one request of each cached prefix ahead, while the others wait for it: those read the cache
// that it has written. The state is a mark of the store, so that other processes continue after a
// crash; batches/seal/cache-state.ts decides. Guarantees that no request waits for another one
// longer than an hour, or longer than half of the time to its deadline.

import type { Serving } from "../../accounts/rank-accounts.ts";
import type { Account } from "../../contract/account.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { timeOfKey, ulid } from "../../format/encode.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { matching } from "../../runtime/store/pages.ts";
import { cacheLaneName, cacheLaneOf } from "./cache-lanes.ts";
import {
  afterLook,
  firstOf,
  hasNext,
  heldUntil,
  isOver,
  isSending,
  lateBefore,
  type Priming,
  primingMark,
  primingValue,
  type SentFirst,
  type SlotRows,
  stepOf,
  withBatch,
} from "./cache-state.ts";
import type { LaneCloser, Ledgers } from "./lane-closer.ts";

/** Age after which an announced batch that is not in the store will not be sealed, in ms. */
const ANNOUNCED_MS = 120_000;
const PAGE = 1_000;

/** Requests that wait for the first ones of their prefixes. */
export interface Held {
  readonly until: number;
  /** Those with an earlier deadline go now, in the lane `to`. */
  readonly before: number;
  readonly to: string;
}

export class CachePriming {
  readonly #runtime: Runtime;
  readonly #closer: LaneCloser;
  /** The waiting requests of each slot, by name of the mark. */
  #slots: Map<string, SlotRows> = new Map();
  /** Slots of which this turn has tried to send first requests, and whether they were taken. */
  readonly #sent: Map<string, boolean> = new Map();

  constructor(runtime: Runtime, closer: LaneCloser) {
    this.#runtime = runtime;
    this.#closer = closer;
  }

  /** Called with the lanes of each probe, after the marks were read. */
  async beginTurn(lanes: readonly LaneRow[], now: number): Promise<void> {
    this.#sent.clear();
    this.#slots = slotsOf(lanes);
    const looked: { readonly mark: string; readonly priming: Priming; readonly rows: SlotRows }[] = [];
    for (const [mark, priming] of this.#runtime.lastPauses.primings) {
      const rows = await this.#payable(priming, this.#slots.get(mark) ?? {});
      if (!isSending(priming, rows, now)) looked.push({ mark, priming, rows });
    }
    const batches = await this.#batchesOf(looked.flatMap(({ priming }) => priming.batches));
    for (const { mark, priming, rows } of looked) {
      const next = afterLook(priming, rows, await this.#look(priming, rows, batches, now), now);
      if (next === priming) continue;
      if (next?.phase === "open") await this.#joinRest(this.#slots.get(mark) ?? {});
      await this.#change(mark, priming, next);
    }
  }

  /** Without first requests that wait for money: the others do not wait for those. */
  async #payable({ phase }: Priming, rows: SlotRows): Promise<SlotRows> {
    const lane = phase === "open" ? undefined : rows[phase]?.lane;
    if (lane === undefined || !(await this.#runtime.limits.isStopped(lane))) return rows;
    return { ...rows, [phase]: undefined };
  }

  async #batchesOf(keys: readonly string[]): Promise<ReadonlyMap<string, BatchRow>> {
    if (keys.length === 0) return new Map();
    const batches = await this.#runtime.store.batches({ keys, limit: keys.length });
    return new Map(batches.map((batch) => [batch.key, batch]));
  }

  /** No first request is to be replaced: those kept for that go with the rest. */
  async #joinRest({ next, rest }: SlotRows): Promise<void> {
    const { store, sinks, clock } = this.#runtime;
    if (next === undefined || rest === undefined) return;
    const change = { kind: "move", lane: next.lane, to: rest.lane, before: null, limit: PAGE } as const;
    while ((await store.amend(change, sinks, clock.now())).length === PAGE);
  }

  /** When the lane is due, if its slot decides that; null if the lane's own thresholds decide. */
  closesAt(lane: LaneRow, alone: (lane: LaneRow) => number, now: number): number | null {
    const cached = cacheLaneOf(lane.lane);
    if (cached === null) return null;
    const mark = primingMark(cached);
    const priming = this.#primingOf(mark);
    const step = stepOf(priming, cached.role, lane, now);
    if (step === "waits" && priming !== null) return heldUntil(priming, lane.deadlineAt);
    if (step !== "fills") return lane.ready > 0 ? now : (lane.deferredUntil ?? Number.POSITIVE_INFINITY);
    const rows: SlotRows = { ...this.#slots.get(mark), [cached.role]: lane };
    return Math.min(...Object.values(rows).map(alone));
  }

  /** null for a lane that waits for no other. */
  held(lane: LaneRow, now: number): Held | null {
    const cached = cacheLaneOf(lane.lane);
    const priming = cached === null ? null : this.#primingOf(primingMark(cached));
    if (cached === null || priming === null || stepOf(priming, cached.role, lane, now) !== "waits") return null;
    const to = cacheLaneName({ ...cached, role: "late" });
    return { until: heldUntil(priming, lane.deadlineAt), before: lateBefore(priming, now), to };
  }

  /**
   * For a lane that is due: sends the first requests of its slot ahead. False: the lane closes as
   * any other.
   */
  async send(lane: LaneRow, serving: Serving<Account>, ledgers: Ledgers, now: number): Promise<boolean> {
    const cached = cacheLaneOf(lane.lane);
    if (cached === null) return false;
    const mark = primingMark(cached);
    const tried = this.#sent.get(mark);
    if (tried !== undefined) return tried;
    const rows: SlotRows = this.#slots.get(mark) ?? {};
    const priming = this.#primingOf(mark);
    const step = stepOf(priming, cached.role, lane, now);
    const ahead = step === "fills" ? firstOf(rows) : step === "sends" ? lane : undefined;
    const caching = serving.first.filter(({ cachedPrefix }) => cachedPrefix !== undefined);
    if (ahead === undefined || caching.length === 0) return false;
    // Most refusals are known before: an announcement that is withdrawn costs two writes a turn.
    const mayGo = await this.#closer.mayTake(ahead, caching, ledgers);
    const isSent = mayGo && (await this.#sendAhead(mark, priming, ahead, caching, ledgers, now));
    this.#sent.set(mark, isSent);
    return isSent;
  }

  async #sendAhead(
    mark: string,
    priming: Priming | null,
    lane: LaneRow,
    caching: readonly Account[],
    ledgers: Ledgers,
    now: number,
  ): Promise<boolean> {
    const key = ulid(now, this.#runtime.options.random);
    const announced = withBatch(priming, key, now);
    // Another process may be first: its batch is awaited.
    if (!(await this.#change(mark, priming, announced))) return true;
    if (await this.#closer.closeAt(lane, caching, ledgers, key)) return true;
    await this.#change(mark, announced, priming);
    return false;
  }

  /**
   * For a lane that is due: the account whose cache has the prefixes; null once the cache has
   * expired.
   */
  warm(lane: LaneRow, { first }: Serving<Account>, now: number): Account | null {
    const cached = cacheLaneOf(lane.lane);
    const priming = cached === null ? null : this.#primingOf(primingMark(cached));
    if (priming?.phase !== "open" || isOver(priming, now)) return null;
    return first.find(({ name }) => name === priming.account) ?? null;
  }

  #primingOf(mark: string): Priming | null {
    return this.#runtime.lastPauses.primings.get(mark) ?? null;
  }

  /** Returns whether the mark now has this value. */
  #change(mark: string, before: Priming | null, after: Priming | null): Promise<boolean> {
    return this.#runtime.setMark(mark, primingValue(before), primingValue(after));
  }

  async #look(priming: Priming, rows: SlotRows, known: ReadonlyMap<string, BatchRow>, now: number): Promise<SentFirst> {
    const batches = priming.batches.flatMap((key) => known.get(key) ?? []);
    const missing = priming.batches.filter((key) => !known.has(key));
    const isOpen = missing.some((key) => timeOfKey(key) + ANNOUNCED_MS > now) || batches.some(isRunning);
    if (isOpen) return { haveEnded: false, haveSucceeded: false, account: "" };
    let haveSucceeded = missing.length === 0;
    // Nothing would go in place of a failed one.
    if (hasNext(priming, rows)) {
      for (const batch of batches) haveSucceeded &&= (await this.#succeeded(batch)) === batch.requests;
    }
    return { haveEnded: true, haveSucceeded, account: batches[0]?.account ?? "" };
  }

  async #succeeded({ key: batchKey }: BatchRow): Promise<number> {
    let count = 0;
    for await (const page of matching(this.#runtime.store, { batchKey, states: ["succeeded"] })) count += page.length;
    return count;
  }
}

function isRunning({ state }: BatchRow): boolean {
  return state !== "done" && state !== "quarantined";
}

function slotsOf(lanes: readonly LaneRow[]): Map<string, SlotRows> {
  const slots = new Map<string, SlotRows>();
  for (const row of lanes) {
    const lane = cacheLaneOf(row.lane);
    if (lane === null) continue;
    const mark = primingMark(lane);
    slots.set(mark, { ...slots.get(mark), [lane.role]: row });
  }
  return slots;
}
