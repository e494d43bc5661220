// For each alert rule, series under which it fires and series under which it does not, in
// promtool's notation: one value per minute. "0+2x30" starts at 0 and grows by 2 a minute for 30
// minutes; "_" is a minute without a sample.

export interface AlertCase {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  /** Values by series, and the minute at which the alert fires. */
  readonly fires: Readonly<Record<string, string>>;
  readonly at: number;
  /** More series under which it fires at that minute. */
  readonly firesToo?: Readonly<Record<string, string>>;
  /** Under each of these it does not fire, neither at `at` nor in the last minute of the series. */
  readonly silent: readonly Readonly<Record<string, string>>[];
  /**
   * Does not fire under this after a day; before that it cannot be known that the counter has not
   * grown.
   */
  readonly silentAfterDay?: Readonly<Record<string, string>>;
}

const words = { batchwise_batcher_name: "words" };
const WORDS = 'batchwise_batcher_name="words"';
const settled = (outcome: string) => `batchwise_items_settled_total{${WORDS},batchwise_item_outcome="${outcome}"}`;

/** This many of 200 items per minute have this outcome. */
const share = (outcome: string, items: number) => ({
  [settled(outcome)]: `0+${items}x30`,
  [settled("completed")]: `0+${200 - items}x30`,
});

/** A latency target refuses this many of 200 items per minute. */
const overloaded = (items: number) => ({
  [settled("rejected").replace("}", ',error_type="OVERLOADED"}')]: `0+${items}x30`,
  [settled("completed")]: `0+${200 - items}x30`,
});

const BATCHERS: readonly AlertCase[] = [
  {
    alert: "BatchwiseQueueNearlyFull",
    labels: { ...words, severity: "ticket" },
    summary: "words: the queue is 85% full.",
    fires: { [`batchwise_items_waiting{${WORDS}}`]: "850x30", [`batchwise_queue_limit{${WORDS}}`]: "1000x30" },
    at: 6,
    silent: [
      { [`batchwise_items_waiting{${WORDS}}`]: "800x30", [`batchwise_queue_limit{${WORDS}}`]: "1000x30" },
      { [`batchwise_items_waiting{${WORDS}}`]: "850x3 0x27", [`batchwise_queue_limit{${WORDS}}`]: "1000x30" },
    ],
  },
  {
    alert: "BatchwiseNothingStarts",
    labels: { ...words, severity: "page" },
    summary: "words: 3 items wait and no batch starts.",
    fires: { [`batchwise_items_waiting{${WORDS}}`]: "3x30", [`batchwise_batches_started_total{${WORDS}}`]: "7x30" },
    at: 10,
    silent: [
      { [`batchwise_items_waiting{${WORDS}}`]: "3x30", [`batchwise_batches_started_total{${WORDS}}`]: "0+1x30" },
      { [`batchwise_items_waiting{${WORDS}}`]: "0x30", [`batchwise_batches_started_total{${WORDS}}`]: "7x30" },
    ],
  },
  {
    alert: "BatchwiseOldestWait",
    labels: { ...words, severity: "ticket" },
    summary: "words: an item has waited 31s.",
    fires: { [`batchwise_queue_oldest_wait{${WORDS}}`]: "31x30" },
    at: 3,
    silent: [{ [`batchwise_queue_oldest_wait{${WORDS}}`]: "30x30" }],
  },
  {
    alert: "BatchwiseItemsRejected",
    labels: { ...words, severity: "page" },
    summary: "words: 2% of all items are rejected.",
    fires: share("rejected", 4),
    at: 10,
    silent: [share("rejected", 1), share("failed", 100), overloaded(100)],
  },
  {
    alert: "BatchwiseOverloaded",
    labels: { ...words, severity: "ticket" },
    summary: "words: 10% of all items cannot be answered within the target.",
    fires: overloaded(20),
    at: 20,
    silent: [overloaded(8), share("rejected", 100)],
  },
  {
    alert: "BatchwiseItemsExpired",
    labels: { ...words, severity: "ticket" },
    summary: "words: 2% of all items miss their deadline.",
    fires: share("expired", 4),
    at: 10,
    silent: [share("expired", 1), share("failed", 100)],
  },
  {
    alert: "BatchwiseItemsFailing",
    labels: { ...words, severity: "page" },
    summary: "words: 10% of all items fail.",
    fires: share("failed", 20),
    at: 10,
    silent: [share("failed", 8), share("rejected", 100)],
  },
];

const ofCreates = (result: string) =>
  `batchwise_dispatch_creates_total{batchwise_account="openai",batchwise_result="${result}"}`;
const ofDeliveries = (result: string) =>
  `batchwise_dispatch_deliveries_total{batchwise_sink="webhook",batchwise_result="${result}"}`;
const lane = 'batchwise_dispatch_lane_age{batchwise_endpoint="/v1/embeddings",batchwise_model="small"}';
const ageOf = (state: string) => `batchwise_dispatch_batch_age{batchwise_batch_state="${state}"}`;
const openOf = (state: string) => `batchwise_dispatch_batches_open{batchwise_batch_state="${state}"}`;
const paused = 'batchwise_dispatch_account_paused{batchwise_account="openai",batchwise_reason="billing"}';
const lost = 'batchwise_dispatch_leases_lost_total{batchwise_account="openai",batchwise_reason="expired"}';
const setBacks = 'batchwise_dispatch_store_set_backs_total{batchwise_error_code="STORE_SET_BACK"}';
const runningOf = (instance: string) => `batchwise_dispatch_running{instance="${instance}"}`;
/** In minutes. */
export const DAY = 24 * 60;

/** A counter that has not changed for more than a day, with ten minutes without samples. */
const oldValue = (value: number): string => `${value}x${DAY} _x10 ${value}x120`;

const DISPATCHERS: readonly AlertCase[] = [
  {
    alert: "BatchwiseDispatchNoProcess",
    labels: { severity: "page" },
    summary: "No process runs the loops of the dispatcher.",
    fires: { [runningOf("a")]: "1x10 0x40", [runningOf("b")]: "1x5 stale _x45" },
    firesToo: { [runningOf("a")]: "1x10 stale _x40" },
    at: 22,
    silent: [{ [runningOf("a")]: "1x5 0x30", [runningOf("b")]: "1x35" }, { [runningOf("a")]: "1x8 0x5 1x30" }],
  },
  {
    alert: "BatchwiseDispatchLaneOld",
    labels: { batchwise_endpoint: "/v1/embeddings", batchwise_model: "small", severity: "ticket" },
    summary: "A request for small has waited 6h 1m 40s for a batch.",
    fires: { [lane]: "21700x30" },
    at: 6,
    silent: [{ [lane]: "21600x30" }],
  },
  {
    alert: "BatchwiseDispatchBatchStuck",
    labels: { batchwise_batch_state: "running", severity: "ticket" },
    summary: "A batch that is running was formed 1d 2h 1m 40s ago.",
    fires: { [ageOf("running")]: "93700x30" },
    at: 11,
    silent: [{ [ageOf("running")]: "93600x30" }, { [ageOf("quarantined")]: "999999x30" }],
  },
  {
    alert: "BatchwiseDispatchQuarantined",
    labels: { severity: "page" },
    summary: "2 batches wait for a person to decide.",
    fires: { [openOf("quarantined")]: "2x30" },
    at: 2,
    silent: [{ [openOf("quarantined")]: "0x30", [openOf("running")]: "5x30" }],
  },
  {
    alert: "BatchwiseDispatchAccountPaused",
    labels: { batchwise_account: "openai", batchwise_reason: "billing", severity: "ticket" },
    summary: "Nothing is sent to openai, because of the billing.",
    fires: { [paused]: "1x60" },
    at: 31,
    silent: [{ [paused]: "1x25 0x20" }],
  },
  {
    alert: "BatchwiseDispatchCreatesFail",
    labels: { batchwise_account: "openai", severity: "ticket" },
    summary: "75% of the creates at openai are not accepted.",
    fires: { [ofCreates("accepted")]: "0+1x120", [ofCreates("refused")]: "0+3x120" },
    at: 60,
    silent: [{ [ofCreates("accepted")]: "0+2x120", [ofCreates("refused")]: "0+1x120" }],
  },
  {
    alert: "BatchwiseDispatchLeasesLost",
    labels: { severity: "ticket" },
    summary: "6 leases were lost in an hour: a slow store, or processes that hang.",
    fires: { [lost]: "_x10 6x60" },
    at: 15,
    silent: [{ [lost]: "_x10 5x60" }],
    silentAfterDay: { [lost]: oldValue(60) },
  },
  {
    alert: "BatchwiseDispatchDeliveriesDead",
    labels: { batchwise_sink: "webhook", severity: "page" },
    summary: "1 outcomes were given up for the webhook.",
    fires: { [ofDeliveries("dead")]: "_x10 1x60" },
    at: 15,
    silent: [{ [ofDeliveries("delivered")]: "_x10 5x60" }],
    silentAfterDay: { [ofDeliveries("dead")]: oldValue(3) },
  },
  {
    alert: "BatchwiseDispatchDeliveriesWaiting",
    labels: { severity: "ticket" },
    summary: "10001 outcomes are not delivered.",
    fires: { batchwise_dispatch_deliveries_waiting: "10001x30" },
    at: 16,
    silent: [{ batchwise_dispatch_deliveries_waiting: "10000x30" }],
  },
  {
    alert: "BatchwiseDispatchStoreSetBack",
    labels: { severity: "page" },
    summary: "The store has lost what it had answered for.",
    fires: { [setBacks]: "_x10 1x60" },
    at: 15,
    silent: [{ [setBacks]: "0x60" }],
    silentAfterDay: { [setBacks]: oldValue(1) },
  },
];

export const alertCases: readonly AlertCase[] = [...BATCHERS, ...DISPATCHERS];
