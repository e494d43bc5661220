// Options that are valid each alone and do together what nobody wants. They work as they say; a warning names the way out.

import type { Events } from "../contract/events.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { PreparedOptions } from "../contract/resolve-options.ts";
import type { Stages } from "../run/handler.ts";

/** Warns of a `prefetch` that has nothing to prepare. */
export function warnOfPrefetch({ prefetch }: ResolvedOptions, { prepare }: Stages, events: Events): void {
  if (prefetch === 0 || prepare !== undefined) return;
  events.warn(
    "OPTIONS",
    "`prefetch` prepares no batch for a handler without `prepare`: there is nothing to do ahead of a slot.",
  );
}

/** Warns of a wait that other options end before it has begun. Returns whether it has. */
export function warnOfWait(
  { maxWaitMs, maxQueueSize, preferredBatchSize, maxBatchSize }: ResolvedOptions,
  events: Events,
): boolean {
  if (maxWaitMs === 0) return false;
  if (maxQueueSize < preferredBatchSize) {
    events.warn(
      "OPTIONS",
      `\`maxQueueSize\` ${maxQueueSize} ends the wait before \`preferredBatchSize\` ${preferredBatchSize} have come: a full queue counts as a full batch.`,
    );
    return true;
  }
  if (preferredBatchSize > 1 || maxBatchSize === 1) return false;
  events.warn(
    "OPTIONS",
    "`preferredBatchSize` 1 ends all waiting: one item is enough to go at once. Leave it out to wait `maxWaitMs`.",
  );
  return true;
}

/**
 * Warns that the default cap on items has closed a batch that costs less than half of what it may. Returns whether it
 * has: with an infinite cap or a size that was given, it has nothing to say.
 */
export function warnOfDefaultSize(
  { isSizeUnset }: PreparedOptions,
  { maxBatchSize, maxBatchCost }: ResolvedOptions,
  events: Events,
): boolean {
  if (!isSizeUnset || maxBatchCost === Number.POSITIVE_INFINITY) return false;
  events.warn(
    "OPTIONS",
    `\`maxBatchSize\` ${maxBatchSize}, the default, closes batches below half of \`maxBatchCost\` ${maxBatchCost}. Set it to what the handler takes.`,
  );
  return true;
}
