// Option names of LangBatch and other batch tools, with ours. The check of unknown names in
// `createDispatcher` and `runBatch` uses them. Several names are separated by spaces.

export const DISPATCHER_HINTS: Readonly<Record<string, string>> = {
  "queueThreshold batchSize": "it is `thresholds.maxRequests` here: so many requests are sent at once",
  "timeThreshold waitMs":
    "it is `thresholds.maxAgeMs` here: how long a request waits for a fuller batch, in milliseconds",
  timeInterval: "there is no interval here: a batch is sent when it is full or old enough, see `thresholds`",
  requestsType: "there is no type here: the endpoint follows from the body of a request",
  "requestKwargs defaults": "it is `requestDefaults` here: merged under the body of each request",
  "batchProcessFunc onResult": "it is `onOutcome` here: called with each outcome",
  "waitTime pollInterval poll": "it is `pollMs` of the account here: the pause between polls, in milliseconds",
  "retries attempts": "it is `retry` here: `{ attempts }`, which counts the first try",
  "account client provider providers": "it is `accounts` here: `[openaiAccount({ client })]`",
  primeCache: "it is an option of `anthropicAccount` alone",
  "concurrency maxConcurrency":
    "there is none here: the provider runs a batch; for an account that runs lines itself it is an option of that account",
  "completion_window completionWindow": "it is `completionWindow` of the account here, where its provider has one",
  "requestQueue queue database db": "it is `store` here: `sqliteStore({ path })`, for example",
};
