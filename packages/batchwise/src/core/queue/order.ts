// Which of two lines goes first: the one of the higher effective priority, then the older; small calls before larger
// ones of the same priority.

/** What orders lines while nobody has waited long: their priority, and small calls before larger ones. */
interface Rank {
  readonly priority: number;
  readonly small: boolean;
}

interface Ranked {
  readonly class: Rank;
}

interface Waiting {
  readonly size: number;
  oldestAt(): number;
}

/** The priority that an entry has by now: waiting `priorityAgingMs` raises it by one. */
export function effectivePriority(priority: number, waitedMs: number, priorityAgingMs: number): number {
  return waitedMs >= priorityAgingMs ? priority + Math.floor(waitedMs / priorityAgingMs) : priority;
}

/** True when an entry of line `a` submitted at `aAt` goes before one of line `b`. */
export function goesBefore(
  a: Ranked,
  aAt: number,
  b: Ranked,
  bAt: number,
  now: number,
  priorityAgingMs: number,
): boolean {
  const aPriority = effectivePriority(a.class.priority, now - aAt, priorityAgingMs);
  const bPriority = effectivePriority(b.class.priority, now - bAt, priorityAgingMs);
  if (aPriority !== bPriority) return aPriority > bPriority;
  if (a.class.small !== b.class.small && a.class.priority === b.class.priority) return a.class.small;
  if (aAt !== bAt) return aAt < bAt;
  return a.class.priority > b.class.priority;
}

/** True when entries of class `a` go before those of class `b` as long as nobody's priority has risen by waiting. */
export function ranksBefore(a: Rank, b: Rank): boolean {
  return a.priority === b.priority ? a.small && !b.small : a.priority > b.priority;
}

/** True when waiting has raised the priority of somebody in these lines, so that their order is not that of the classes. */
export function hasAged(lines: readonly Waiting[], now: number, priorityAgingMs: number): boolean {
  for (const line of lines) if (line.size > 0 && now - line.oldestAt() >= priorityAgingMs) return true;
  return false;
}
