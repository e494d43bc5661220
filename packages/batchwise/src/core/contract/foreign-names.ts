// Option names of other libraries, for the check of unknown names. A row has their names, in the
// form of `plainName`, then what our option means and its name; or, for a batcher's options only,
// where their setting belongs. The first row that has a name and an option of the entry point is
// used.

export const FOREIGN_NAMES: readonly (readonly [theirs: string, meaning: string, ours?: string])[] = [
  [
    "timeout waittimeout wait waittime delay window latency queuedelay queuingdelay linger flushinterval debounce schedulefn scheduler",
    "the longest wait for a fuller batch, in ms. `timeoutMs` is an item's deadline",
    "maxWaitMs",
  ],
  ["slo", "in ms", "targetLatencyMs"],
  [
    "minsize min minitems",
    "no minimum: so many go before `maxWaitMs` is over; 1 ends all waiting",
    "preferredBatchSize",
  ],
  ["size max items limit chunksize batch", "the most items of a batch", "maxBatchSize"],
  [
    "tokens targetcost targettokens length cost tokenbudget bytes getshouldexecute",
    "the most that its items cost together. `createTokenBatcher` counts tokens",
    "maxBatchCost",
  ],
  ["sizefn", "a function of a batch", "batchCost"],
  [
    "estimatetokens costestimator tokenestimator estimatedcost estimatedtokens tokens costfn weight itemcls defaultcost defaulttokenestimate",
    "a function of an item. `createTokenBatcher` counts tokens",
    "cost",
  ],
  ["prefetch", "the batches to prepare ahead", "prefetch"],
  ["concurrent parallelism inflight queuingthresholds workers", "the most batches at once", "concurrency"],
  [
    "queuesize queue queuelimit capacity highwatermark ongoingrequests",
    "the most items that wait, or Infinity",
    "maxQueueSize",
  ],
  ["blockonfull overflow", '"wait", "reject" or "drop-oldest"', "onFull"],
  ["smallthreshold prioritystrategy strategy", "the most items of a call that goes first", "smallCallFirst"],
  ["cachekey cachekeyfn keyfn dedupekey", "a function: items of equal strings share an answer", "dedupe"],
  ["cachemap cachestore store", "`{ get, set }`, beside `dedupe`", "cache"],
  ["groupaffinity group groupby partitionkey", "a function: one string, one batch", "key"],
  ["retries attempts asyncretryeroptions", "`{ attempts }`, which counts the first call", "retry"],
  ["retries limit", "it counts the first call", "attempts"],
  ["interval intervalcap ratelimit ratelimiter delayfunction", "`rateLimiter({ callsPerMinute })`", "limiter"],
  [
    "timeout ttl deadline defaulttimeout allowtimeoutoverride timeoutaction",
    "from an item's submit to its answer, in ms",
    "timeoutMs",
  ],
  ["mincost", "a batch has no least cost: it goes when it is full or `maxWaitMs` is over"],
  ["bufferedchunks stall", "use `batchStream`, for handlers that stream"],
  [
    "handler fn batchingfunction func fetcher processfn inferencefn resolver keyresolver indexedresolver",
    "the handler is the first argument",
  ],
  ["autostart started initialstate", "use `pause()` and `resume()`"],
  ["onsuccess onerror onsettled onitemschange verbose logger", 'use `on("batch", listener)`'],
  ["preserveordering throwonerror", "each caller awaits its own result"],
  ["priority prioritylevels signal abortsignal", "give it to `submit(item, { … })`"],
  ["batchable dim", "the first dimension is batched"],
  ["padtokens paddingside spreadkwargs unstackfeatures", "use `batchTensors` of `batchwise/tensor`"],
];

const IGNORED: readonly string[] = ["max", "batch", "batches", "ms", "s", "seconds", "microseconds"];

/**
 * Removes differences between libraries: case, `_`, the words `max` and `batch`, and time units.
 */
export function plainName(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split("_");
  return words.filter((word) => !IGNORED.includes(word)).join("") || words.join("");
}
