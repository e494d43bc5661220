/** The engine's decisions: whether a batch goes, which items it has, their order, and its cost. */

import { decide, type LaneView, type PolicyState } from "../../packages/batchwise/src/core/policy/decide.ts";
import { longestFit } from "../../packages/batchwise/src/core/policy/longest-fit.ts";
import { leadOf } from "../../packages/batchwise/src/core/queue/rank.ts";
import { estimateTokens } from "../../packages/batchwise/src/tokens/estimate-tokens.ts";
import { entryOf, Kit, type NewEntry } from "../../packages/batchwise/test/core/support/queue-kit.ts";
import type { PureFunctions } from "./pure-functions.ts";

const NOW = 1_000;
const QUEUE = 10_000;

const lane: LaneView = {
  size: 10,
  oldestAt: () => NOW - 5,
  earliestDueAt: Number.POSITIVE_INFINITY,
  isFlushed: false,
};
const state: PolicyState = {
  preferredBatchSize: 50,
  maxWaitMs: 10,
  leadMs: undefined,
  isQueueFull: false,
  isDraining: false,
  isPaused: false,
  gate: "open",
};

function entries(more: (place: number) => Partial<NewEntry>): NewEntry[] {
  return Array.from({ length: QUEUE }, (_, place) => ({ id: place + 1, cost: 1 + (place % 7), ...more(place) }));
}

const none = (): Partial<NewEntry> => ({});

export const decisions: PureFunctions = {
  "decide: hold until the window ends": () => () => decide(lane, null, state, NOW),
  "decide: a full lane goes": () => () => decide(lane, "size", state, NOW),
  [`pack: 100 of ${QUEUE} by size`]: () => {
    const kit = new Kit().push(...entries(none));
    return () => kit.plan({ maxBatchSize: 100 });
  },
  [`pack: up to a cost of 400, of ${QUEUE}`]: () => {
    const kit = new Kit().push(...entries(none));
    return () => kit.plan({ maxBatchCost: 400 });
  },
  [`pack: 100 of ${QUEUE} in three priorities`]: () => {
    const kit = new Kit().push(...entries((place) => ({ priority: place % 3 })));
    return () => kit.plan({ maxBatchSize: 100 });
  },
  leadOf: () => () => leadOf(3, true, 1_000),
  "longestFit: 1,000 items, a function": () => {
    const waiting = Array.from({ length: 1_000 }, (_, id) => entryOf({ id }));
    const read = (count: number): typeof waiting => waiting.slice(0, count);
    return () => longestFit(read, 700, (items) => items.length);
  },
  "estimateTokens: a chat of 2 KB": () => {
    const messages = [{ role: "user", content: "What is the capital of France, and why? ".repeat(50) }];
    return () => estimateTokens({ model: "m", messages });
  },
};
