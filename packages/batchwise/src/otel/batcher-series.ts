// Every series of a batcher, in one table.

export const BATCHER_SERIES = {
  itemWait: {
    kind: "histogram",
    name: "batchwise.item.wait.duration",
    unit: "s",
    description: "From an item's submit to the start of its batch.",
    buckets: "seconds",
  },
  itemDuration: {
    kind: "histogram",
    name: "batchwise.item.duration",
    unit: "s",
    description: "From an item's submit to its answer.",
    buckets: "seconds",
  },
  settled: {
    kind: "counter",
    name: "batchwise.items.settled",
    unit: "{item}",
    description: "Items that have ended, by outcome.",
  },
  batchWait: {
    kind: "histogram",
    name: "batchwise.batch.wait.duration",
    unit: "s",
    description: "From the submit of a batch's oldest item to the start of the batch.",
    buckets: "seconds",
  },
  run: {
    kind: "histogram",
    name: "batchwise.batch.run.duration",
    unit: "s",
    description: "From the start of a batch to its end, retries included.",
    buckets: "seconds",
  },
  runRatio: {
    kind: "histogram",
    name: "batchwise.batch.run.prediction_ratio",
    unit: "1",
    description: "Run time of a batch over the time that targetLatencyMs had predicted for it.",
    buckets: "ratio",
  },
  size: {
    kind: "histogram",
    name: "batchwise.batch.size",
    unit: "{item}",
    description: "Items in a batch when it starts.",
    buckets: "items",
  },
  cost: {
    kind: "histogram",
    name: "batchwise.batch.cost",
    unit: "1",
    description: "Cost of a batch when it starts.",
    buckets: "cost",
  },
  fill: {
    kind: "histogram",
    name: "batchwise.batch.fill",
    unit: "1",
    description: "Share of maxBatchSize or of maxBatchCost that a batch uses, whichever is larger.",
    buckets: "fill",
  },
  started: {
    kind: "counter",
    name: "batchwise.batches.started",
    unit: "{batch}",
    description: "Batches that have started, by reason.",
  },
  calls: {
    kind: "counter",
    name: "batchwise.handler.calls",
    unit: "{call}",
    description: "Calls of the handler: one a batch, and one for each retry and each half of a failed batch.",
  },
  deduped: {
    kind: "counter",
    name: "batchwise.items.deduped",
    unit: "{item}",
    description: "Items that shared the place of an equal one.",
  },
  cacheHits: {
    kind: "counter",
    name: "batchwise.items.cached",
    unit: "{item}",
    description: "Items answered from the cache.",
  },
  waiting: {
    kind: "observedCount",
    name: "batchwise.items.waiting",
    unit: "{item}",
    description: "Items that wait for a batch.",
  },
  blocked: {
    kind: "observedCount",
    name: "batchwise.items.blocked",
    unit: "{item}",
    description: "Submits that a full queue holds back.",
  },
  running: {
    kind: "observedCount",
    name: "batchwise.items.running",
    unit: "{item}",
    description: "Items in running batches.",
  },
  runningBatches: {
    kind: "observedCount",
    name: "batchwise.batches.running",
    unit: "{batch}",
    description: "Batches that run.",
  },
  queueLimit: {
    kind: "observedCount",
    name: "batchwise.queue.limit",
    unit: "{item}",
    description: "Items that may wait (maxQueueSize); left out where there is no limit.",
  },
  slots: {
    kind: "observedCount",
    name: "batchwise.slots.limit",
    unit: "{batch}",
    description: "Batches that may run at the same time (concurrency); left out where there is no limit.",
  },
  costLimit: {
    kind: "observedGauge",
    name: "batchwise.batch.cost.limit",
    unit: "{cost}",
    description: "What a batch may cost (maxBatchCost), given or learned so far; left out where there is no limit.",
  },
  capacity: {
    kind: "observedCount",
    name: "batchwise.capacity",
    unit: "{item}/s",
    description: "Items per second that can be served within targetLatencyMs, as learned; left out without a target.",
  },
  oldestWait: {
    kind: "observedGauge",
    name: "batchwise.queue.oldest_wait",
    unit: "s",
    description: "How long the item has waited that waits longest now.",
  },
  utilization: {
    kind: "observedGauge",
    name: "batchwise.utilization",
    unit: "1",
    description: "Share of the time since the first submit in which at least one batch ran.",
  },
} as const;

/** The labels of these series and of spans. */
export const BATCHER_LABELS = {
  name: "batchwise.batcher.name",
  key: "batchwise.batch.key",
  reason: "batchwise.batch.reason",
  outcome: "batchwise.item.outcome",
  error: "error.type",
} as const;
