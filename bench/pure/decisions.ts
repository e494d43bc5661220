/** The engine's decisions: is it time, which items, before whom, what does it cost. */
import { bench, do_not_optimize, group, summary } from "mitata";
import { estimateTokens } from "../../packages/batchwise/src/core/api/estimate-tokens.ts";
import { longestFit } from "../../packages/batchwise/src/core/policy/batch-cost.ts";
import { decide, type LaneView, type PolicyState } from "../../packages/batchwise/src/core/policy/decide.ts";
import { effectivePriority } from "../../packages/batchwise/src/core/queue/order.ts";
import { Kit, type NewEntry } from "../../packages/batchwise/test/core/support/queue-kit.ts";

const NOW = 1_000;
const QUEUE = 10_000;

const lane: LaneView = {
  size: 10,
  full: null,
  oldestAt: NOW - 5,
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
  hasGathered: true,
};

function entries(more: (place: number) => Partial<NewEntry>): NewEntry[] {
  return Array.from({ length: QUEUE }, (_, place) => ({ id: place + 1, cost: 1 + (place % 7), ...more(place) }));
}

export function decisions(): void {
  group("decide", () => {
    bench("decide: hold until the window ends", () => do_not_optimize(decide(lane, state, NOW)));
    bench("decide: a full lane goes", () => do_not_optimize(decide({ ...lane, full: "size" }, state, NOW)));
  });
  summary(() => {
    const plain = new Kit().push(...entries(() => ({})));
    const ranked = new Kit().push(...entries((place) => ({ priority: place % 3 })));
    bench(`pack: 100 of ${QUEUE} by size`, () => do_not_optimize(plain.plan({ maxBatchSize: 100 })));
    bench(`pack: up to a cost of 400, of ${QUEUE}`, () => do_not_optimize(plain.plan({ maxBatchCost: 400 })));
    bench(`pack: 100 of ${QUEUE} in three priorities`, () => do_not_optimize(ranked.plan({ maxBatchSize: 100 })));
  });
  group("small parts of pack", () => {
    const items = Array.from({ length: 1_000 }, (_, place) => place);
    bench("effectivePriority", () => do_not_optimize(effectivePriority(3, 2_500, 1_000)));
    bench("longestFit: 1,000 items, a function", () =>
      do_not_optimize(longestFit(items, 700, (prefix) => prefix.length)),
    );
  });
  group("estimateTokens", () => {
    const messages = [{ role: "user", content: "What is the capital of France, and why? ".repeat(50) }];
    bench("estimateTokens: a chat of 2 KB", () => do_not_optimize(estimateTokens({ model: "m", messages })));
  });
}
