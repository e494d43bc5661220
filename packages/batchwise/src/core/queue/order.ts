// Which of two waiting entries goes first: the one of the higher effective priority, then the older; small calls before
// larger ones of the same priority.

import type { Rank } from "./ranks.ts";

/** The priority that an entry has by now: waiting `priorityAgingMs` raises it by one. */
export function effectivePriority(priority: number, waitedMs: number, priorityAgingMs: number): number {
  return waitedMs >= priorityAgingMs ? priority + Math.floor(waitedMs / priorityAgingMs) : priority;
}

/** True when an entry of rank `a` submitted at `aAt` goes before one of rank `b` submitted at `bAt`. */
export function goesBefore(a: Rank, aAt: number, b: Rank, bAt: number, now: number, priorityAgingMs: number): boolean {
  const aPriority = effectivePriority(a.priority, now - aAt, priorityAgingMs);
  const bPriority = effectivePriority(b.priority, now - bAt, priorityAgingMs);
  if (aPriority !== bPriority) return aPriority > bPriority;
  if (a.isSmall !== b.isSmall && a.priority === b.priority) return a.isSmall;
  if (aAt !== bAt) return aAt < bAt;
  return a.priority > b.priority;
}
