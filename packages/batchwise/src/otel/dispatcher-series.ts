// Every series of a dispatcher, in two tables: counts of this process, and the state of the store.

/** From events. Add them up over the processes. */
export const DISPATCHER_SERIES = {
  enqueued: {
    kind: "counter",
    name: "batchwise.dispatch.requests.enqueued",
    unit: "{request}",
    description: "Requests given to enqueue, by result: stored, existing or conflict.",
  },
  ended: {
    kind: "counter",
    name: "batchwise.dispatch.requests.ended",
    unit: "{request}",
    description: "Requests that have ended in a batch, by status.",
  },
  sealed: {
    kind: "counter",
    name: "batchwise.dispatch.batches.sealed",
    unit: "{batch}",
    description: "Batches formed.",
  },
  laneWait: {
    kind: "histogram",
    name: "batchwise.dispatch.lane.wait.duration",
    unit: "s",
    description: "How long the oldest request of a lane had waited when a batch of it was formed.",
    buckets: "daySeconds",
  },
  batchRequests: {
    kind: "histogram",
    name: "batchwise.dispatch.batch.requests",
    unit: "{request}",
    description: "Requests in a batch when it is formed.",
    buckets: "requests",
  },
  batchTokens: {
    kind: "histogram",
    name: "batchwise.dispatch.batch.tokens",
    unit: "{token}",
    description: "Estimated prompt tokens in a batch when it is formed.",
    buckets: "tokens",
  },
  batchDuration: {
    kind: "histogram",
    name: "batchwise.dispatch.batch.duration",
    unit: "s",
    description: "From the moment a batch was formed to its end.",
    buckets: "daySeconds",
  },
  uploads: {
    kind: "counter",
    name: "batchwise.dispatch.uploads",
    unit: "{call}",
    description: "Uploads of a batch's input, by result: accepted, refused or unknown.",
  },
  uploadDuration: {
    kind: "histogram",
    name: "batchwise.dispatch.upload.duration",
    unit: "s",
    description: "How long uploads took.",
    buckets: "callSeconds",
  },
  creates: {
    kind: "counter",
    name: "batchwise.dispatch.creates",
    unit: "{call}",
    description: "Creates of batches at a provider, by result: accepted, refused or unknown.",
  },
  createDuration: {
    kind: "histogram",
    name: "batchwise.dispatch.create.duration",
    unit: "s",
    description: "How long creates took.",
    buckets: "callSeconds",
  },
  adoptions: {
    kind: "counter",
    name: "batchwise.dispatch.adoptions",
    unit: "{batch}",
    description: "Creates of unknown outcome that were found at the provider.",
  },
  duplicates: {
    kind: "counter",
    name: "batchwise.dispatch.duplicates",
    unit: "{batch}",
    description: "Batches at a provider beside the one of record: cancelled, or found ended.",
  },
  polls: {
    kind: "counter",
    name: "batchwise.dispatch.polls",
    unit: "{batch}",
    description: "Looks at a batch at its provider, by result: seen, gone or failed.",
  },
  collected: {
    kind: "counter",
    name: "batchwise.dispatch.results.read",
    unit: "{line}",
    description: "Result lines read.",
  },
  collectDuration: {
    kind: "histogram",
    name: "batchwise.dispatch.collect.duration",
    unit: "s",
    description: "How long it took to read a batch's results.",
    buckets: "callSeconds",
  },
  inputTokens: {
    kind: "counter",
    name: "batchwise.dispatch.tokens.input",
    unit: "{token}",
    description: "Input tokens, as providers count them. Cached ones are among them.",
  },
  cachedTokens: {
    kind: "counter",
    name: "batchwise.dispatch.tokens.cached",
    unit: "{token}",
    description: "Input tokens that came from a provider's cache.",
  },
  outputTokens: {
    kind: "counter",
    name: "batchwise.dispatch.tokens.output",
    unit: "{token}",
    description: "Output tokens, as providers count them. Reasoning tokens are among them.",
  },
  reasoningTokens: {
    kind: "counter",
    name: "batchwise.dispatch.tokens.reasoning",
    unit: "{token}",
    description: "Output tokens that a model spent on reasoning.",
  },
  price: {
    kind: "counter",
    name: "batchwise.dispatch.price",
    unit: "{USD}",
    description: "US dollars, by the option prices; models without a price are left out.",
  },
  leasesLost: {
    kind: "counter",
    name: "batchwise.dispatch.leases.lost",
    unit: "{lease}",
    description: "Operations that had to stop because the process no longer owned the batch.",
  },
  quarantines: {
    kind: "counter",
    name: "batchwise.dispatch.quarantines",
    unit: "{batch}",
    description: "Batches put aside for a person to decide.",
  },
  splits: {
    kind: "counter",
    name: "batchwise.dispatch.splits",
    unit: "{batch}",
    description: "Refused batches that went back to their lane in two parts.",
  },
  pauses: {
    kind: "counter",
    name: "batchwise.dispatch.pauses",
    unit: "{pause}",
    description: "Pauses of an account that its provider has caused: an outage, a limit, no money.",
  },
  deliveries: {
    kind: "counter",
    name: "batchwise.dispatch.deliveries",
    unit: "{delivery}",
    description: "Tries to deliver an outcome, by result: delivered, retry or dead.",
  },
  deliveryDuration: {
    kind: "histogram",
    name: "batchwise.dispatch.delivery.duration",
    unit: "s",
    description: "How long a try to deliver an outcome took.",
    buckets: "callSeconds",
  },
  filesDeleted: {
    kind: "counter",
    name: "batchwise.dispatch.files.deleted",
    unit: "{file}",
    description: "Uploaded files at a provider that no batch used, deleted.",
  },
  pruned: {
    kind: "counter",
    name: "batchwise.dispatch.requests.pruned",
    unit: "{request}",
    description: "Requests of which only id and digest are left.",
  },
  clockSteps: {
    kind: "counter",
    name: "batchwise.dispatch.clock.steps",
    unit: "{step}",
    description: "Steps of the wall clock; counted again when one has lasted and is believed.",
  },
  setBacks: {
    kind: "counter",
    name: "batchwise.dispatch.store.set_backs",
    unit: "{event}",
    description: "Times that the store had lost what it had answered for.",
  },
} as const;

/** Gauges of this process: add them up. */
export const PROCESS_SERIES = {
  running: {
    kind: "observedCount",
    name: "batchwise.dispatch.running",
    unit: "{dispatcher}",
    description: "Dispatchers of this process whose loops run: 1 from start to stop, else 0.",
  },
} as const;

/** Read from the store while the loops run. The same in every process: take the maximum. */
export const STORE_SERIES = {
  laneRequests: {
    kind: "observedGauge",
    name: "batchwise.dispatch.lane.requests",
    unit: "{request}",
    description: "Requests that wait in a lane; counted up to the size of a batch.",
  },
  laneTokens: {
    kind: "observedGauge",
    name: "batchwise.dispatch.lane.tokens",
    unit: "{token}",
    description: "Estimated prompt tokens of the requests that wait in a lane; counted up to the size of a batch.",
  },
  laneAge: {
    kind: "observedGauge",
    name: "batchwise.dispatch.lane.age",
    unit: "s",
    description: "How long the oldest request of a lane has waited.",
  },
  batchesOpen: {
    kind: "observedGauge",
    name: "batchwise.dispatch.batches.open",
    unit: "{batch}",
    description: "Batches that have not ended, by state.",
  },
  batchAge: {
    kind: "observedGauge",
    name: "batchwise.dispatch.batch.age",
    unit: "s",
    description: "Time since the oldest batch in a state was formed.",
  },
  accountTokens: {
    kind: "observedGauge",
    name: "batchwise.dispatch.account.tokens",
    unit: "{token}",
    description: "Estimated prompt tokens that an account has in flight.",
  },
  accountRequests: {
    kind: "observedGauge",
    name: "batchwise.dispatch.account.requests",
    unit: "{request}",
    description: "Requests that an account has in flight.",
  },
  accountBatches: {
    kind: "observedGauge",
    name: "batchwise.dispatch.account.batches",
    unit: "{batch}",
    description: "Batches that an account has in flight.",
  },
  accountPaused: {
    kind: "observedGauge",
    name: "batchwise.dispatch.account.paused",
    unit: "{account}",
    description: "1 while nothing is sent to an account, because of its provider or by an operator; else 0.",
  },
  deliveriesWaiting: {
    kind: "observedGauge",
    name: "batchwise.dispatch.deliveries.waiting",
    unit: "{delivery}",
    description: "Outcomes that onOutcome or the webhook has not taken yet.",
  },
} as const;

/** All gauges of a dispatcher. */
export type GaugeSeries = typeof PROCESS_SERIES & typeof STORE_SERIES;

/** The labels of these series and of spans. */
export const DISPATCHER_LABELS = {
  account: "batchwise.account",
  endpoint: "batchwise.endpoint",
  model: "batchwise.model",
  tenant: "batchwise.tenant",
  state: "batchwise.batch.state",
  status: "batchwise.request.status",
  result: "batchwise.result",
  reason: "batchwise.reason",
  sink: "batchwise.sink",
  error: "error.type",
} as const;
