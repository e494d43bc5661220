// A queue as a plain list, with the same steps applied to it and to the real queue. `check`
// compares all that the queue reports.

import { expect } from "vitest";
import type { Entry } from "../../../src/core/queue/entry.ts";
import type { Flush, FlushedBatch } from "../../../src/core/queue/flush.ts";
import { goesBefore } from "./goes-before.ts";
import { Kit, type KitOptions, type NewEntry, otherHolder } from "./queue-kit.ts";

/** A batch that was taken and has not ended. */
class Running implements FlushedBatch {
  readonly key: string | undefined;
  flushes: readonly Flush[] = [];

  constructor(key: string | undefined) {
    this.key = key;
  }
}

/** A call of `flush`: the entries that it waits for, and whether it is done. */
interface Awaited {
  readonly entries: Set<Entry>;
  readonly batches: Set<Running>;
  isDone: boolean;
}

export class Model {
  readonly kit: Kit;
  readonly agingMs: number;
  #waiting: Entry[] = [];
  readonly #running: Running[] = [];
  readonly #flushes: Awaited[] = [];
  #keepsDeadlines = false;
  #now = 0;

  constructor(options: KitOptions, agingMs: number) {
    this.kit = new Kit({ ...options, priorityAgingMs: agingMs });
    this.agingMs = agingMs;
  }

  push(of: NewEntry, gapMs: number): void {
    this.#now += gapMs;
    this.kit.push({ ...of, at: this.#now });
    this.#waiting.push(this.kit.entry(of.id));
  }

  /** A waiting entry; undefined if none waits. */
  #any(place: number): Entry | undefined {
    return this.#waiting[place % Math.max(1, this.#waiting.length)];
  }

  leave(place: number): void {
    const entry = this.#any(place);
    if (entry !== undefined) this.#gone([entry]);
    entry?.leave();
  }

  raise(place: number, priority: number): void {
    const entry = this.#any(place);
    if (entry === undefined) return;
    const before = entry.priority;
    entry.holder?.update(entry, { priority, isSmall: false });
    expect(entry.priority).toBe(Math.max(before, priority));
  }

  /** A caller with a deadline joins, or the one with the earliest deadline leaves. */
  moveDeadline(place: number, dueAt: number): void {
    const entry = this.#any(place);
    if (entry === undefined) return;
    Object.assign(entry.recipient as object, { dueAt });
    entry.holder?.update(entry, entry);
  }

  keepDeadlines(isKept: boolean): void {
    this.#keepsDeadlines = isKept;
    this.kit.queue.keepDeadlines(isKept);
  }

  /** Takes a batch of the most urgent lane. */
  take(maxBatchSize: number): void {
    const { queue } = this.kit;
    const lane = queue.mostUrgent;
    if (lane === undefined) return;
    const plan = this.kit.plan({ maxBatchSize }, this.#now);
    const batch = new Running(lane.key);
    this.#running.push(batch);
    for (const { entries, batches } of this.#flushes) if (plan.entries.some((e) => entries.has(e))) batches.add(batch);
    this.#gone(plan.entries);
    batch.flushes = queue.take(plan.entries, otherHolder());
  }

  end(place: number): void {
    const [batch] = this.#running.splice(place % Math.max(1, this.#running.length), 1);
    if (batch === undefined) return;
    for (const { batches } of this.#flushes) batches.delete(batch);
    for (const flush of batch.flushes) flush.release();
  }

  /** Flushes; half of the running batches count as paused before another call. */
  flush(key: string | undefined): void {
    const covers = (of: { readonly key: string | undefined }): boolean => key === undefined || of.key === key;
    const resting = this.#running.filter((batch, index) => index % 2 === 0 && covers(batch));
    const entries = new Set(this.#waiting.filter(covers));
    const awaited: Awaited = { entries, batches: new Set(resting), isDone: false };
    this.#flushes.push(awaited);
    this.kit.flush(key, resting, () => {
      expect(awaited.isDone).toBe(false);
      awaited.isDone = true;
    });
  }

  #gone(gone: readonly Entry[]): void {
    this.#waiting = this.#waiting.filter((entry) => !gone.includes(entry));
    for (const { entries } of this.#flushes) for (const entry of gone) entries.delete(entry);
  }

  check(): void {
    const { queue } = this.kit;
    expect(queue.size).toBe(this.#waiting.length);
    const byKey = new Map<string | undefined, Entry[]>();
    for (const entry of this.#waiting) byKey.set(entry.key, [...(byKey.get(entry.key) ?? []), entry]);
    const lanes = [...queue.lanes()];
    expect(new Set(lanes.map(({ key }) => key))).toEqual(new Set(byKey.keys()));
    for (const lane of lanes) {
      const entries = byKey.get(lane.key) as Entry[];
      const covered = entries.filter((entry) => this.#flushes.some((flush) => flush.entries.has(entry)));
      expect([lane.size, lane.flushes?.waiting ?? 0]).toEqual([entries.length, covered.length]);
      expect(lane.cost).toBeCloseTo(
        entries.reduce((sum, { cost }) => sum + cost, 0),
        6,
      );
      expect(lane.oldestAt()).toBe(earliest(entries.map(({ moment }) => moment.at)));
      expect(lane.earliestDueAt).toBe(this.#keepsDeadlines ? earliest(entries.map(dueAtOf)) : Number.POSITIVE_INFINITY);
    }
    this.#checkOrder();
    for (const { entries, batches, isDone } of this.#flushes) expect(isDone).toBe(entries.size + batches.size === 0);
    expect(queue.isFlushed).toBe(this.#flushes.some(({ entries }) => entries.size > 0));
  }

  #checkOrder(): void {
    const { queue } = this.kit;
    const oldestAt = earliest(this.#waiting.map(({ moment }) => moment.at));
    expect(queue.oldestAt()).toBe(oldestAt);
    expect(queue.oldestLane?.oldestAt() ?? Number.POSITIVE_INFINITY).toBe(oldestAt);
    expect(queue.oldest?.moment.at ?? Number.POSITIVE_INFINITY).toBe(oldestAt);
    const dueAt = this.#keepsDeadlines ? earliest(this.#waiting.map(dueAtOf)) : Number.POSITIVE_INFINITY;
    expect(queue.earliestDueLane?.earliestDueAt ?? Number.POSITIVE_INFINITY).toBe(dueAt);
    const urgent = queue.mostUrgent;
    const inLane = this.#waiting.filter(({ key }) => key === urgent?.key);
    for (const entry of this.#waiting) {
      expect(inLane.some((head) => head === entry || !this.#goesBefore(entry, head))).toBe(true);
    }
  }

  #goesBefore(a: Entry, b: Entry): boolean {
    return goesBefore(a, b, this.agingMs);
  }

  /** Removes all, oldest first. */
  clear(): void {
    const ids = this.#waiting.map(({ item }) => item);
    const cleared = this.kit.queue.clear();
    const times = cleared.map(({ moment }) => moment.at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(cleared.map(({ item }) => item))).toEqual(new Set(ids));
    this.#gone(cleared);
  }
}

function dueAtOf({ recipient }: Entry): number {
  return (recipient as { readonly dueAt: number }).dueAt;
}

function earliest(times: readonly number[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...times);
}
