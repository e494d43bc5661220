// Warns of options that are valid separately but have an unwanted effect together. They work as
// documented; the warning names a fix.

import { countOf } from "../contract/errors.ts";
import type { Events } from "../contract/events.ts";
import type { Services } from "../submit/services.ts";

/** Warns of each option without effect beside others when the batcher is made. */
export function warnOfIdle({ prepared: { options, given }, stages, events }: Services): void {
  const { prefetch, order, batchCost, preferredBatchSize, maxWaitMs, timeoutMs, onFull, maxQueueSize } = options;
  const warnIf = (isIdle: boolean, message: string): void => {
    if (isIdle) events.warn("OPTIONS", message);
  };
  warnIf(
    prefetch > 0 && stages.prepare === undefined,
    "`prefetch` prepares no batch for a handler without `prepare`: there is nothing to do ahead of a slot.",
  );
  const lengths = order === "length" ? '`order` "length"' : '`batchCost` "padded"';
  warnIf(
    batchCost === "padded" && given.cost === undefined,
    `${lengths} has no lengths to go by: without \`cost\`, each item costs 1. Set \`cost\` to the length of an item.`,
  );
  warnIf(
    given.preferredBatchSize !== undefined && preferredBatchSize > 1 && maxWaitMs === 0,
    "`preferredBatchSize` waits for nothing without `maxWaitMs`: set how long the oldest item may be held.",
  );
  warnIf(
    timeoutMs <= maxWaitMs && timeoutMs < Infinity,
    "`timeoutMs` ends each wait before `maxWaitMs` does: `timeoutMs` is the deadline of an item's answer.",
  );
  warnIf(
    onFull !== "wait" && maxQueueSize === Infinity,
    "`onFull` says nothing where `maxQueueSize` is Infinity: the queue is never full.",
  );
}

/** Warns once of a wait that other options end before it begins. */
export function warnOfWait({ prepared: { options }, events }: Services): void {
  const { maxWaitMs, maxQueueSize, preferredBatchSize, maxBatchSize } = options;
  if (maxWaitMs === 0) return;
  if (maxQueueSize < preferredBatchSize) {
    const early = `\`maxQueueSize\` ${maxQueueSize} ends the wait before \`preferredBatchSize\` ${preferredBatchSize} have come`;
    events.warnOnce("wait", "OPTIONS", () => `${early}: a full queue counts as a full batch.`);
  } else if (preferredBatchSize === 1 && maxBatchSize > 1) {
    const early = "`preferredBatchSize` 1 ends all waiting: one item is enough to go at once.";
    events.warnOnce("wait", "OPTIONS", () => `${early} Leave it out to wait \`maxWaitMs\`.`);
  }
}

/**
 * Warns once where the default cap on items has closed a batch of this cost, less than half of the
 * maximum.
 */
export function warnOfDefaultSize(cost: number, { prepared: { given, options }, events }: Services): void {
  const { maxBatchSize, maxBatchCost } = options;
  if (cost >= maxBatchCost / 2 || given.maxBatchSize !== undefined || maxBatchCost === Infinity) return;
  events.warnOnce("size", "OPTIONS", () => {
    const early = `\`maxBatchSize\` ${maxBatchSize}, the default, closes batches below half of \`maxBatchCost\` ${maxBatchCost}.`;
    return `${early} Set it to what the handler takes.`;
  });
}

/** Warns of items that were sent only because the process ends, or that a paused batcher loses. */
export function warnOfHeldItems(count: number, isPaused: boolean, events: Events): void {
  const holds = isPaused ? "A paused batcher loses" : "`maxWaitMs: Infinity` still held";
  const way = `Call \`${isPaused ? "resume" : "flush"}()\` or \`close()\` after the last submit.`;
  events.warn("HELD_AT_EXIT", `${holds} ${countOf(count, "item")}: the process ends. ${way}`);
}
