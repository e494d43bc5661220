// Options that are valid each alone and do together what nobody wants. They work as they say; a warning names the way out.

import type { Events } from "../contract/events.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { PreparedOptions } from "../contract/resolve-options.ts";
import type { Stages } from "../run/handler.ts";

/** Warns of a `prefetch` that has nothing to prepare. */
export function warnOfPrefetch({ prefetch }: ResolvedOptions, { prepare }: Stages, events: Events): void {
  if (prefetch === 0 || prepare !== undefined) return;
  warn(events, "`prefetch` prepares no batch for a handler without `prepare`: there is nothing to do ahead of a slot.");
}

/** Warns of padding that nothing is known of: items without a cost are all of one length. */
export function warnOfPadding(
  { isCostUnset }: PreparedOptions,
  { batchCost, order }: ResolvedOptions,
  events: Events,
): void {
  if (!isCostUnset || batchCost !== "padded") return;
  const cause = order === "length" ? '`order` "length"' : '`batchCost` "padded"';
  warn(
    events,
    `${cause} has no lengths to go by: without \`cost\`, each item costs 1. Set \`cost\` to the length of an item.`,
  );
}

/** Warns of a wait that other options end before it has begun. Returns whether it has. */
export function warnOfWait(options: ResolvedOptions, events: Events): boolean {
  const { maxWaitMs, maxQueueSize, preferredBatchSize, maxBatchSize } = options;
  if (maxWaitMs === 0) return false;
  if (maxQueueSize < preferredBatchSize) {
    const early = `\`maxQueueSize\` ${maxQueueSize} ends the wait before \`preferredBatchSize\` ${preferredBatchSize} have come`;
    return warn(events, `${early}: a full queue counts as a full batch.`);
  }
  if (preferredBatchSize > 1 || maxBatchSize === 1) return false;
  const early = "`preferredBatchSize` 1 ends all waiting: one item is enough to go at once.";
  return warn(events, `${early} Leave it out to wait \`maxWaitMs\`.`);
}

/**
 * Warns that the default cap on items has closed a batch that costs less than half of what it may. Returns whether it
 * has: with an infinite cap or a size that was given, it has nothing to say.
 */
export function warnOfDefaultSize(prepared: PreparedOptions, options: ResolvedOptions, events: Events): boolean {
  const { maxBatchSize, maxBatchCost } = options;
  const isDefault = prepared.isSizeUnset && maxBatchSize === prepared.options.maxBatchSize;
  if (!isDefault || maxBatchCost === Infinity) return false;
  const early = `\`maxBatchSize\` ${maxBatchSize}, the default, closes batches below half of \`maxBatchCost\` ${maxBatchCost}.`;
  return warn(events, `${early} Set it to what the handler takes.`);
}

function warn(events: Events, message: string): true {
  events.warn("OPTIONS", message);
  return true;
}
