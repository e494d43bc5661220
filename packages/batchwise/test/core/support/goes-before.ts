// A second implementation of the order among waiting entries.

interface Waiting {
  readonly priority: number;
  readonly isSmall: boolean;
  readonly moment: { readonly at: number };
}

/** True if one entry goes before another; false for two equal ones. */
export function goesBefore(a: Waiting, b: Waiting, agingMs: number): boolean {
  if (agingMs === Infinity) {
    if (a.priority !== b.priority) return a.priority > b.priority;
    return a.isSmall === b.isSmall ? a.moment.at < b.moment.at : a.isSmall;
  }
  const [aSteps, bSteps] = [a, b].map(({ priority, isSmall }) => priority + (isSmall ? 0.5 : 0)) as [number, number];
  const lead = (aSteps - bSteps) * agingMs;
  const later = a.moment.at - b.moment.at;
  return lead === later ? later < 0 : lead > later;
}
