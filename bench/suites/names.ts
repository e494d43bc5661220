/**
 * The name of each contender in the tables, and its number of concurrent batches if no limit is
 * set.
 */
const titles: Readonly<Record<string, string>> = {
  "hand-written": "hand-written minimum",
  unbatched: "no batching + p-limit(1)",
  dataloader: "dataloader, cache off",
  batshit: "batshit",
  pacer: "TanStack Pacer, no wait, flushed by hand",
  "pacer@1": "TanStack Pacer, wait 1 ms",
  "promise-batcher": "promise-batcher",
  "cargo-queue": "async.cargoQueue",
  "batchwise-plain": "**batchwise**",
  "batchwise-turn": '**batchwise, gather "turn"**',
  "batchwise-parallel": "batchwise, concurrency Infinity",
  "batchwise-many": "**batchwise, submitMany**",
  "batchwise-featured": "**batchwise, cost + 3 priorities + bound + statistics**",
  "batchwise-deadlines": "**batchwise, cost + 3 priorities + a deadline a call**",
  "batchwise-keys": "batchwise, 10,000 keys",
  "batchwise-fair": "batchwise, fairBy over 1,000 tenants",
  "batchwise-signal": "batchwise, one shared AbortSignal",
  "batchwise-one-priority": "batchwise, one priority",
  "batchwise-rising": "batchwise, each item more urgent than the last",
  "batchwise-falling": "batchwise, each item less urgent than the last",
  "batchwise-mixed": "batchwise, 10,000 priorities in mixed order",
};

export function titleOf(contender: string): string {
  return titles[contender] ?? contender;
}

export function concurrencyOf(contender: string): string {
  return contender.startsWith("batchwise") && contender !== "batchwise-parallel" ? "1 (default)" : "no limit";
}
