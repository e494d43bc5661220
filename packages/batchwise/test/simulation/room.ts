// Finds the items that enter from outside a full queue: a second implementation of the contract.
// The batcher reports how many have entered; the order says which. With rounds of tenants, or with
// two equal items, it is unknown.

import { rankOf } from "./check-reason.ts";
import type { Model } from "./model.ts";
import type { Place } from "./record.ts";

/** Marks the items of `outside` that have entered. */
export function admit(model: Model, outside: readonly Place[], count: number): void {
  if (count <= 0 || count >= outside.length) {
    model.expect(count >= 0, "blocked", () => `${outside.length - count} in place of ${outside.length}`);
    for (const place of outside) place.isInside = count > 0;
    return;
  }
  const isKnown = model.world.uses.tenants === 0 && outside.every(({ isInside }) => isInside === false);
  if (!isKnown) {
    for (const place of outside) place.isInside = undefined;
    return;
  }
  const inOrder = outside.toSorted((a, b) => (goesFirst(model, a, b) ? -1 : 1));
  const rest = inOrder.slice(count);
  const isCut = inOrder.slice(0, count).every((place) => rest.every((other) => goesFirst(model, place, other)));
  for (const [index, place] of inOrder.entries()) place.isInside = isCut ? index < count : undefined;
  model.note(
    () =>
      `admitted ${inOrder
        .slice(0, count)
        .map((place) => place.item.id)
        .join(" ")}${isCut ? "" : "?"}`,
  );
}

/**
 * By rank, then by age. Keys do not matter outside. False for two places of different priorities
 * that aging has made equal: their order within a millisecond is not promised.
 */
function goesFirst(model: Model, a: Place, b: Place): boolean {
  const difference = rankOf(model, a) - rankOf(model, b);
  if (difference !== 0) return difference < 0;
  if (a.since !== b.since) return a.since < b.since;
  return a.priority === b.priority && a.isBefore(b);
}
