// Flushes of lanes, in marks of the store: a process without loops asks those with loops to send
// what it has enqueued. They see it with their next look, within 30 s.

import type { MarkChange, MarkRow } from "../contract/store/rows.ts";
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
 * By name of the mark: the time of the last flush, by the clock of the process that flushed. Those
 * of a clock that is far ahead are left out.
 */
export function flushTimes(marks: readonly MarkRow[], now: number): ReadonlyMap<string, number> {
  const own = marks.filter(({ name }) => name.startsWith(PREFIX));
  const times = own.map(({ name, value }) => [name, Number(value)] as const);
  return new Map(times.filter(([, at]) => !isFromWrongClock(at, now)));
}

export function flushMark(lane: string): string {
  return storedMessage(PREFIX + lane);
}

/** Writes a flush of these lanes. One that is older changes no newer one. */
export async function markFlushes(runtime: Marks, lanes: readonly string[], now: number): Promise<void> {
  let marks = await runtime.changeMarks([]);
  for (;;) {
    const changes = flushChanges(marks, lanes, now);
    if (!changes.some(({ value }) => value !== null)) return;
    // Another process may have been faster.
    marks = await runtime.changeMarks(changes);
  }
}

function flushChanges(marks: readonly MarkRow[], lanes: readonly string[], now: number): MarkChange[] {
  const before = new Map(marks.filter(({ name }) => name.startsWith(PREFIX)).map(({ name, value }) => [name, value]));
  const known = flushTimes(marks, now);
  const names = lanes.map(flushMark).filter((name) => (known.get(name) ?? Number.NEGATIVE_INFINITY) < now);
  const set = names.map((name) => ({ name, expected: before.get(name) ?? null, value: String(now) }));
  const others = [...before].filter(([name]) => !names.includes(name)).sort(([, a], [, b]) => Number(b) - Number(a));
  const dropped = others.filter(([, value], index) => index >= MOST_LANES || Number(value) <= now - OLD_MS);
  return [...set, ...dropped.map(([name, value]) => ({ name, expected: value, value: null }))];
}
