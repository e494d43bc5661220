// The alert rules. The limits are starting points: set them to the promises of your service.

import { gainedInHour } from "./gained.ts";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: "page" | "ticket";
  readonly summary: string;
}

const NAME = "batchwise_batcher_name";

/** The share of items with this outcome over five minutes. */
const shareOf = (outcome: string): string =>
  `sum by (${NAME}) (rate(batchwise_items_settled_total{batchwise_item_outcome="${outcome}"}[5m])) ` +
  `/ sum by (${NAME}) (rate(batchwise_items_settled_total[5m]))`;

/** The share of items that a latency target has refused. */
const overloaded: string = shareOf("rejected").replace('"rejected"', '"rejected",error_type="OVERLOADED"');

const BATCHERS: readonly Rule[] = [
  {
    alert: "BatchwiseQueueNearlyFull",
    expr: `sum by (${NAME}) (batchwise_items_waiting) / sum by (${NAME}) (batchwise_queue_limit) > 0.8`,
    for: "5m",
    severity: "ticket",
    summary: "{{ $labels.batchwise_batcher_name }}: the queue is {{ $value | humanizePercentage }} full.",
  },
  {
    alert: "BatchwiseNothingStarts",
    expr: `sum by (${NAME}) (batchwise_items_waiting) > 0 unless sum by (${NAME}) (rate(batchwise_batches_started_total[5m])) > 0`,
    for: "5m",
    severity: "page",
    summary: "{{ $labels.batchwise_batcher_name }}: {{ $value }} items wait and no batch starts.",
  },
  {
    alert: "BatchwiseOldestWait",
    expr: `max by (${NAME}) (batchwise_queue_oldest_wait) > 30`,
    for: "2m",
    severity: "ticket",
    summary: "{{ $labels.batchwise_batcher_name }}: an item has waited {{ $value | humanizeDuration }}.",
  },
  {
    alert: "BatchwiseItemsRejected",
    expr: `${shareOf("rejected").replace('"rejected"', '"rejected",error_type!="OVERLOADED"')} > 0.01`,
    for: "5m",
    severity: "page",
    summary: "{{ $labels.batchwise_batcher_name }}: {{ $value | humanizePercentage }} of all items are rejected.",
  },
  {
    alert: "BatchwiseOverloaded",
    expr: `${overloaded} > 0.05`,
    for: "10m",
    severity: "ticket",
    summary:
      "{{ $labels.batchwise_batcher_name }}: {{ $value | humanizePercentage }} of all items cannot be answered within the target.",
  },
  {
    alert: "BatchwiseItemsExpired",
    expr: `${shareOf("expired")} > 0.01`,
    for: "5m",
    severity: "ticket",
    summary:
      "{{ $labels.batchwise_batcher_name }}: {{ $value | humanizePercentage }} of all items miss their deadline.",
  },
  {
    alert: "BatchwiseItemsFailing",
    expr: `${shareOf("failed")} > 0.05`,
    for: "5m",
    severity: "page",
    summary: "{{ $labels.batchwise_batcher_name }}: {{ $value | humanizePercentage }} of all items fail.",
  },
];

const DISPATCHERS: readonly Rule[] = [
  {
    alert: "BatchwiseDispatchNoProcess",
    expr: "sum(batchwise_dispatch_running) < 1 or absent(batchwise_dispatch_running)",
    for: "10m",
    severity: "page",
    summary: "No process runs the loops of the dispatcher.",
  },
  {
    alert: "BatchwiseDispatchLaneOld",
    expr: "max by (batchwise_endpoint, batchwise_model) (batchwise_dispatch_lane_age) > 21600",
    for: "5m",
    severity: "ticket",
    summary: "A request for {{ $labels.batchwise_model }} has waited {{ $value | humanizeDuration }} for a batch.",
  },
  {
    alert: "BatchwiseDispatchBatchStuck",
    expr: 'max by (batchwise_batch_state) (batchwise_dispatch_batch_age{batchwise_batch_state!="quarantined"}) > 93600',
    for: "10m",
    severity: "ticket",
    summary: "A batch that is {{ $labels.batchwise_batch_state }} was formed {{ $value | humanizeDuration }} ago.",
  },
  {
    alert: "BatchwiseDispatchQuarantined",
    expr: 'max(batchwise_dispatch_batches_open{batchwise_batch_state="quarantined"}) > 0',
    for: "1m",
    severity: "page",
    summary: "{{ $value }} batches wait for a person to decide.",
  },
  {
    alert: "BatchwiseDispatchAccountPaused",
    expr: "max by (batchwise_account, batchwise_reason) (batchwise_dispatch_account_paused) > 0",
    for: "30m",
    severity: "ticket",
    summary: "Nothing is sent to {{ $labels.batchwise_account }}, because of the {{ $labels.batchwise_reason }}.",
  },
  {
    alert: "BatchwiseDispatchCreatesFail",
    expr:
      'sum by (batchwise_account) (rate(batchwise_dispatch_creates_total{batchwise_result!="accepted"}[30m])) ' +
      "/ sum by (batchwise_account) (rate(batchwise_dispatch_creates_total[30m])) > 0.5",
    for: "15m",
    severity: "ticket",
    summary: "{{ $value | humanizePercentage }} of the creates at {{ $labels.batchwise_account }} are not accepted.",
  },
  {
    alert: "BatchwiseDispatchLeasesLost",
    expr: `sum(${gainedInHour("batchwise_dispatch_leases_lost_total")}) > 5`,
    for: "0m",
    severity: "ticket",
    summary: "{{ $value }} leases were lost in an hour: a slow store, or processes that hang.",
  },
  {
    alert: "BatchwiseDispatchDeliveriesDead",
    expr: `sum by (batchwise_sink) (${gainedInHour("batchwise_dispatch_deliveries_total", 'batchwise_result="dead"')}) > 0`,
    for: "0m",
    severity: "page",
    summary: "{{ $value }} outcomes were given up for the {{ $labels.batchwise_sink }}.",
  },
  {
    alert: "BatchwiseDispatchDeliveriesWaiting",
    expr: "max(batchwise_dispatch_deliveries_waiting) > 10000",
    for: "15m",
    severity: "ticket",
    summary: "{{ $value }} outcomes are not delivered.",
  },
  {
    alert: "BatchwiseDispatchStoreSetBack",
    expr: `sum(${gainedInHour("batchwise_dispatch_store_set_backs_total")}) > 0`,
    for: "0m",
    severity: "page",
    summary: "The store has lost what it had answered for.",
  },
];

/**
 * A rules file of Prometheus. Texts are in double quotes, for which YAML and JSON have the same
 * rules.
 */
export function alertRules(): string {
  const groups = Object.entries({ "batchwise-batcher": BATCHERS, "batchwise-dispatcher": DISPATCHERS });
  return `groups:\n${groups.map(([name, rules]) => `  - name: ${name}\n    rules:\n${rules.map(ruleText).join("")}`).join("")}`;
}

function ruleText({ alert, expr, for: held, severity, summary }: Rule): string {
  return [
    `      - alert: ${alert}`,
    `        expr: ${JSON.stringify(expr)}`,
    `        for: ${held}`,
    "        labels:",
    `          severity: ${severity}`,
    "        annotations:",
    `          summary: ${JSON.stringify(summary)}`,
    "",
  ].join("\n");
}
