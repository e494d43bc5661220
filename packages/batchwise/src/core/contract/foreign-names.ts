// Option names of other libraries, with ours, for the check of unknown names. A row has our option,
// its unit or meaning, and other names in the form of `plainName`.

/** The first row that has the name and an option of the entry point is used. */
export const FOREIGN_NAMES: readonly (readonly [ours: string, meaning: string, theirs: string])[] = [
  [
    "maxWaitMs",
    "the longest wait for a fuller batch, in ms. `timeoutMs` is an item's deadline",
    "timeout waittimeout wait waittime delay window latency queuedelay queuingdelay linger flushinterval debounce schedulefn scheduler",
  ],
  ["targetLatencyMs", "in ms", "slo"],
  [
    "preferredBatchSize",
    "no minimum: so many go before `maxWaitMs` is over; 1 ends all waiting",
    "minsize min minitems",
  ],
  ["maxBatchSize", "the most items of a batch", "size max items limit chunksize batch"],
  [
    "maxBatchCost",
    "the most that its items cost together. `createTokenBatcher` counts tokens",
    "tokens targetcost targettokens length cost tokenbudget bytes getshouldexecute",
  ],
  ["batchCost", "a function of a batch", "sizefn"],
  [
    "cost",
    "a function of an item. `createTokenBatcher` counts tokens",
    "estimatetokens costestimator tokenestimator estimatedcost estimatedtokens tokens costfn weight itemcls defaultcost defaulttokenestimate",
  ],
  ["prefetch", "the batches to prepare ahead", "prefetch"],
  ["concurrency", "the most batches at once", "concurrent parallelism inflight queuingthresholds workers"],
  [
    "maxQueueSize",
    "the most items that wait, or Infinity",
    "queuesize queue queuelimit capacity highwatermark ongoingrequests",
  ],
  ["onFull", '"wait", "reject" or "drop-oldest"', "blockonfull overflow"],
  ["smallCallFirst", "the most items of a call that goes first", "smallthreshold prioritystrategy strategy"],
  ["dedupe", "a function: items of equal strings share an answer", "cachekey cachekeyfn keyfn dedupekey"],
  ["cache", "`{ get, set }`, beside `dedupe`", "cachemap cachestore store"],
  ["key", "a function: one string, one batch", "groupaffinity group groupby partitionkey"],
  ["retry", "`{ attempts }`, which counts the first call", "retries attempts asyncretryeroptions"],
  ["attempts", "it counts the first call", "retries limit"],
  ["limiter", "`rateLimiter({ callsPerMinute })`", "interval intervalcap ratelimit ratelimiter delayfunction"],
  [
    "timeoutMs",
    "from an item's submit to its answer, in ms",
    "timeout ttl deadline defaulttimeout allowtimeoutoverride timeoutaction",
  ],
];

/** Names without an option, and where their setting belongs. Only for options of a batcher. */
export const ELSEWHERE: readonly (readonly [answer: string, theirs: string])[] = [
  ["a batch has no least cost: it goes when it is full or `maxWaitMs` is over", "mincost"],
  ["use `batchStream`, for handlers that stream", "bufferedchunks stall"],
  [
    "the handler is the first argument",
    "handler fn batchingfunction func fetcher processfn inferencefn resolver keyresolver indexedresolver",
  ],
  ["use `pause()` and `resume()`", "autostart started initialstate"],
  ['use `on("batch", listener)`', "onsuccess onerror onsettled onitemschange verbose logger"],
  ["each caller awaits its own result", "preserveordering throwonerror"],
  ["give it to `submit(item, { … })`", "priority prioritylevels signal abortsignal"],
  ["the first dimension is batched", "batchable dim"],
  ["use `batchTensors` of `batchwise/tensor`", "padtokens paddingside spreadkwargs unstackfeatures"],
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
