// The dashboard: a row for batchers, a row for dispatchers. Panels are laid out three per line, in
// order.

import { gainedInHour } from "./gained.ts";

type Unit = "s" | "short" | "percentunit" | "currencyUSD" | "ops" | "cpm";

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: Unit;
  /** PromQL by the label of its line. */
  readonly lines: Readonly<Record<string, string>>;
}

const WIDTH = 8;
const HEIGHT = 8;
const BATCHER = 'batchwise_batcher_name=~"$batcher"';
const NAME = "batchwise_batcher_name";

const rate = (name: string, labels = BATCHER): string => `rate(${name}{${labels}}[$__rate_interval])`;
const perMinute = (by: string, name: string): string => `sum by (${by}) (rate(${name}[$__rate_interval])) * 60`;
const mean = (name: string): string =>
  `sum by (${NAME}) (${rate(`${name}_sum`)}) / sum by (${NAME}) (${rate(`${name}_count`)})`;

/** Median and 99th percentile of a histogram of batchers. */
const quantiles = (name: string): Record<string, string> => {
  const of = (share: number) => `histogram_quantile(${share}, sum by (le, ${NAME}) (${rate(`${name}_bucket`)}))`;
  return { [`{{${NAME}}} p50`]: of(0.5), [`{{${NAME}}} p99`]: of(0.99) };
};

const BATCHERS: readonly Panel[] = [
  {
    title: "Items by outcome",
    description: "Items that have ended, a second.",
    unit: "ops",
    lines: {
      [`{{${NAME}}} {{batchwise_item_outcome}}`]: `sum by (${NAME}, batchwise_item_outcome) (${rate("batchwise_items_settled_total")})`,
    },
  },
  {
    title: "Batches by reason",
    description: "Why batches went: full (size, cost), a slot was free (idle), the end of a wait, a deadline.",
    unit: "ops",
    lines: {
      [`{{${NAME}}} {{batchwise_batch_reason}}`]: `sum by (${NAME}, batchwise_batch_reason) (${rate("batchwise_batches_started_total")})`,
    },
  },
  {
    title: "Batch size",
    description: "Items in a batch.",
    unit: "short",
    lines: { ...quantiles("batchwise_batch_size"), [`{{${NAME}}} mean`]: mean("batchwise_batch_size") },
  },
  {
    title: "Batch fill",
    description: "Mean share of maxBatchSize, or of maxBatchCost, that a batch uses.",
    unit: "percentunit",
    lines: { [`{{${NAME}}}`]: mean("batchwise_batch_fill") },
  },
  {
    title: "Item wait",
    description: "From submit to the start of the batch.",
    unit: "s",
    lines: quantiles("batchwise_item_wait_duration"),
  },
  {
    title: "Item latency",
    description: "From submit to the answer.",
    unit: "s",
    lines: quantiles("batchwise_item_duration"),
  },
  {
    title: "Handler run",
    description: "From the start of a batch to its end, retries included.",
    unit: "s",
    lines: quantiles("batchwise_batch_run_duration"),
  },
  {
    title: "Waiting, blocked, running",
    description: "Items that wait, submits that a full queue holds back, items in running batches.",
    unit: "short",
    lines: {
      [`{{${NAME}}} waiting`]: `sum by (${NAME}) (batchwise_items_waiting{${BATCHER}})`,
      [`{{${NAME}}} blocked`]: `sum by (${NAME}) (batchwise_items_blocked{${BATCHER}})`,
      [`{{${NAME}}} running`]: `sum by (${NAME}) (batchwise_items_running{${BATCHER}})`,
    },
  },
  {
    title: "Oldest wait",
    description: "How long the item has waited that waits longest now.",
    unit: "s",
    lines: { [`{{${NAME}}}`]: `max by (${NAME}) (batchwise_queue_oldest_wait{${BATCHER}})` },
  },
  {
    title: "Slots in use",
    description: "Mean share of the slots (concurrency) in which a batch ran.",
    unit: "percentunit",
    lines: {
      [`{{${NAME}}}`]: `sum by (${NAME}) (${rate("batchwise_batch_run_duration_sum")}) / sum by (${NAME}) (batchwise_slots_limit{${BATCHER}})`,
    },
  },
  {
    title: "Batch cost",
    description:
      "Cost of a batch: tokens, bytes, rows, or whatever the option cost counts. limit: maxBatchCost, given or learned.",
    unit: "short",
    lines: {
      ...quantiles("batchwise_batch_cost"),
      [`{{${NAME}}} limit`]: `max by (${NAME}) (batchwise_batch_cost_limit{${BATCHER}})`,
    },
  },
  {
    title: "Failed batches and further calls",
    description: "Batches that failed as a whole, by error; calls of the handler beyond the first of each batch.",
    unit: "ops",
    lines: {
      [`{{${NAME}}} {{error_type}}`]: `sum by (${NAME}, error_type) (${rate("batchwise_batch_run_duration_count", `${BATCHER},error_type!=""`)})`,
      [`{{${NAME}}} further calls`]: `sum by (${NAME}) (${rate("batchwise_handler_calls_total")}) - sum by (${NAME}) (${rate("batchwise_batches_started_total")})`,
    },
  },
  {
    title: "Refused items",
    description: "Items refused a second, by code: OVERLOADED is a latency target's, QUEUE_FULL a full queue's.",
    unit: "ops",
    lines: {
      [`{{${NAME}}} {{error_type}}`]: `sum by (${NAME}, error_type) (${rate("batchwise_items_settled_total", `${BATCHER},batchwise_item_outcome="rejected"`)})`,
    },
  },
  {
    title: "Served within the target",
    description: "Items a second that can be served within targetLatencyMs, as learned, and that were answered.",
    unit: "ops",
    lines: {
      [`{{${NAME}}} capacity`]: `sum by (${NAME}) (batchwise_capacity{${BATCHER}})`,
      [`{{${NAME}}} answered`]: `sum by (${NAME}) (${rate("batchwise_items_settled_total", `${BATCHER},batchwise_item_outcome="completed"`)})`,
    },
  },
  {
    title: "Real over predicted run",
    description:
      "Run time of batches over the time that targetLatencyMs had predicted: near 1 where it knows the handler.",
    unit: "short",
    lines: quantiles("batchwise_batch_run_prediction_ratio"),
  },
];

const DISPATCHERS: readonly Panel[] = [
  {
    title: "Lane age",
    description: "How long the oldest request of each lane has waited.",
    unit: "s",
    lines: { "{{batchwise_model}}": "max by (batchwise_model) (batchwise_dispatch_lane_age)" },
  },
  {
    title: "Requests waiting",
    description: "By lane, counted up to the size of a batch.",
    unit: "short",
    lines: { "{{batchwise_model}}": "max by (batchwise_model) (batchwise_dispatch_lane_requests)" },
  },
  {
    title: "Open batches",
    description: "By state.",
    unit: "short",
    lines: { "{{batchwise_batch_state}}": "max by (batchwise_batch_state) (batchwise_dispatch_batches_open)" },
  },
  {
    title: "Batch age",
    description: "Since the oldest batch in each state was formed.",
    unit: "s",
    lines: { "{{batchwise_batch_state}}": "max by (batchwise_batch_state) (batchwise_dispatch_batch_age)" },
  },
  {
    title: "Creates",
    description: "A minute, by account and result.",
    unit: "cpm",
    lines: {
      "{{batchwise_account}} {{batchwise_result}}": perMinute(
        "batchwise_account, batchwise_result",
        "batchwise_dispatch_creates_total",
      ),
    },
  },
  {
    title: "Requests ended",
    description: "A minute, by status.",
    unit: "cpm",
    lines: {
      "{{batchwise_request_status}}": perMinute("batchwise_request_status", "batchwise_dispatch_requests_ended_total"),
    },
  },
  {
    title: "Tokens",
    description: "A minute, as providers count them.",
    unit: "cpm",
    lines: {
      "{{batchwise_model}} input": perMinute("batchwise_model", "batchwise_dispatch_tokens_input_total"),
      "{{batchwise_model}} output": perMinute("batchwise_model", "batchwise_dispatch_tokens_output_total"),
    },
  },
  {
    title: "Price",
    description: "US dollars an hour, by tenant.",
    unit: "currencyUSD",
    lines: {
      "{{batchwise_tenant}}":
        "sum by (batchwise_tenant) (rate(batchwise_dispatch_price_total[$__rate_interval])) * 3600",
    },
  },
  {
    title: "In flight",
    description: "Requests that each account has in flight.",
    unit: "short",
    lines: { "{{batchwise_account}}": "max by (batchwise_account) (batchwise_dispatch_account_requests)" },
  },
  {
    title: "Paused accounts",
    description: "1 while nothing is sent to an account.",
    unit: "short",
    lines: {
      "{{batchwise_account}} {{batchwise_reason}}":
        "max by (batchwise_account, batchwise_reason) (batchwise_dispatch_account_paused)",
    },
  },
  {
    title: "Trouble",
    description: "In the last hour.",
    unit: "short",
    lines: {
      "leases lost": `sum(${gainedInHour("batchwise_dispatch_leases_lost_total")})`,
      quarantines: `sum(${gainedInHour("batchwise_dispatch_quarantines_total")})`,
      splits: `sum(${gainedInHour("batchwise_dispatch_splits_total")})`,
      pauses: `sum(${gainedInHour("batchwise_dispatch_pauses_total")})`,
      duplicates: `sum(${gainedInHour("batchwise_dispatch_duplicates_total")})`,
      "clock steps": `sum(${gainedInHour("batchwise_dispatch_clock_steps_total")})`,
    },
  },
  {
    title: "Deliveries",
    description: "Tries a minute by result, and outcomes that wait.",
    unit: "short",
    lines: {
      "{{batchwise_sink}} {{batchwise_result}}": perMinute(
        "batchwise_sink, batchwise_result",
        "batchwise_dispatch_deliveries_total",
      ),
      waiting: "max(batchwise_dispatch_deliveries_waiting)",
    },
  },
];

const DATA_SOURCE = { type: "prometheus", uid: "$datasource" };

function panels(row: string, given: readonly Panel[], id: number, y: number): object[] {
  const header = { id, type: "row", title: row, collapsed: false, panels: [], gridPos: { x: 0, y, w: 24, h: 1 } };
  const laidOut = given.map(({ title, description, unit, lines }, index) => ({
    id: id + 1 + index,
    type: "timeseries",
    title,
    description,
    datasource: DATA_SOURCE,
    gridPos: { x: (index % 3) * WIDTH, y: y + 1 + Math.floor(index / 3) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0, custom: { lineWidth: 1, fillOpacity: 5 } }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
    targets: Object.entries(lines).map(([legendFormat, expr], line) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + line),
      datasource: DATA_SOURCE,
      expr,
      legendFormat,
    })),
  }));
  return [header, ...laidOut];
}

export function dashboard(): object {
  const rowHeight = 1 + Math.ceil(BATCHERS.length / 3) * HEIGHT;
  const query = `label_values(batchwise_batches_started_total, ${NAME})`;
  return {
    uid: "batchwise",
    title: "batchwise",
    tags: ["batchwise"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        {
          name: "batcher",
          label: "Batcher",
          type: "query",
          datasource: DATA_SOURCE,
          definition: query,
          query: { query, refId: "batcher" },
          refresh: 2,
          includeAll: true,
          multi: true,
          allValue: ".*",
          current: { text: "All", value: "$__all" },
        },
      ],
    },
    panels: [
      ...panels("Batchers", BATCHERS, 1, 0),
      ...panels("Dispatcher", DISPATCHERS, BATCHERS.length + 2, rowHeight),
    ],
  };
}
