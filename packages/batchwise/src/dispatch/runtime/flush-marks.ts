// Flushes of lanes, in marks of the store: a process without loops requests that a process with
// loops sends its requests. That one sees the mark at its next look, within 30 s.

import type { MarkChange, MarkRow } from "../contract/store/ledger-rows.ts";
import { storedMessage } from "../format/stored-code.ts";
import { isFromWrongClock } from "./wall-clock.ts";

const PREFIX = "flush ";
/** A bound, because all marks are read together and often. */
const MOST_LANES = 200;
/** Flushes of this age, in ms, are dropped with the next one. */
const OLD_MS = 86_400_000;

/** The part of the runtime that is used here. */
interface Marks {
  changeMarks(changes: readonly MarkChange[]): Promise<readonly MarkRow[]>;
}

/**
 * Time of the last flush, by name of the mark. `now`: by the store's clock, if it has one. Leaves
 * out times far ahead of that, which a wrong clock wrote.
 */
export function flushTimes(marks: readonly MarkRow[], now: number): ReadonlyMap<string, number> {
  const own = marks.filter(({ name }) => name.startsWith(PREFIX));
  const times = own.map(({ name, value }) => [name, Number(value)] as const);
  return new Map(times.filter(([, at]) => !isFromWrongClock(at, now)));
}

export function flushMark(lane: string): string {
  return storedMessage(PREFIX + lane);
}

/**
 * Writes a flush of these lanes, unless a newer flush is stored. `aheadMs`: how far the store's
 * clock is ahead of this process's, so that a process with a wrong clock neither ignores the marks
 * of others nor replaces them by older ones.
 */
export async function markFlushes(
  runtime: Marks,
  lanes: readonly string[],
  at: number,
  aheadMs: number = 0,
): Promise<void> {
  const now = at + aheadMs;
  // The requests that it covers have the time of this process.
  const time = isFromWrongClock(at, now) ? now : Math.max(at, now);
  let marks = await runtime.changeMarks([]);
  for (;;) {
    const changes = flushChanges(marks, lanes, now, time);
    if (!changes.some(({ value }) => value !== null)) return;
    // Another process may have been faster.
    marks = await runtime.changeMarks(changes);
  }
}

function flushChanges(marks: readonly MarkRow[], lanes: readonly string[], now: number, time: number): MarkChange[] {
  const before = new Map(marks.filter(({ name }) => name.startsWith(PREFIX)).map(({ name, value }) => [name, value]));
  const known = flushTimes(marks, now);
  const names = lanes.map(flushMark).filter((name) => (known.get(name) ?? Number.NEGATIVE_INFINITY) < time);
  const set = names.map((name) => ({ name, expected: before.get(name) ?? null, value: String(time) }));
  const others = [...before].filter(([name]) => !names.includes(name)).sort(([, a], [, b]) => Number(b) - Number(a));
  const dropped = others.filter(([, value], index) => index >= MOST_LANES || Number(value) <= now - OLD_MS);
  return [...set, ...dropped.map(([name, value]) => ({ name, expected: value, value: null }))];
}
