// `batchwise jobs list`: the jobs with their sums, limits of price, waiting requests by model, and
// the newest batches. Reads only.

import type { BatchRecord, DispatcherStats, PriceLimit } from "batchwise/dispatch";
import { ago, counted, dollars, table } from "../common/print.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import { jsonOf, limitText, pricesOf } from "./job-prices.ts";
import { type JobSums, jobsNow } from "./job-sums.ts";
import type { ListFlags } from "./jobs-flags.ts";

/** Most reads of a thousand requests each, for a job with requests that ended without success. */
const MOST_READS = 200;

export function list({ store: url, json, limit }: ListFlags): Promise<void> {
  return withStoreOf(url, async (opened) => {
    const { dispatcher } = opened;
    const jobs = await jobsNow(opened, MOST_READS);
    const prices = await pricesOf(opened.store, await dispatcher.usage());
    const stats = await dispatcher.stats();
    const batches = await dispatcher.batches({ limit });
    if (json) {
      printJson({ jobs, prices: prices.map(jsonOf), ...stats, newest: batches });
      return;
    }
    const limits = prices.length === 0 ? [] : [...priceTable(prices), ""];
    print([...jobTable(jobs), "", ...limits, ...laneTable(stats, Date.now()), "", ...batchTable(batches, Date.now())]);
  });
}

function jobTable(jobs: readonly JobSums[]): string[] {
  const head = ["JOB", "REQUESTS", "OPEN", "SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "TOKENS IN", "OUT", "COST"];
  const rows = jobs.map((sums) => {
    const most = (count: number): string | number => (sums.exact || count === 0 ? count : `<= ${counted(count)}`);
    return [
      ...[sums.job === "" ? "(none)" : sums.job, most(sums.requests), sums.open, sums.succeeded],
      ...[most(sums.failed), most(sums.cancelled), most(sums.expired), sums.inputTokens, sums.outputTokens],
      sums.cost === null ? null : dollars(sums.cost),
    ];
  });
  return table(head, rows, "No jobs.");
}

function priceTable(prices: readonly PriceLimit[]): string[] {
  const head = ["PRICE OF", "NAME", "SPENT", "RESERVED", "LIMIT"];
  const rows = prices.map((price) => {
    const { kind, name, spent, reserved } = price;
    return [kind, name === "" ? "(none)" : name, dollars(spent), dollars(reserved), limitText(price)];
  });
  return table(head, rows, "");
}

function laneTable({ lanes }: DispatcherStats, now: number): string[] {
  const head = ["WAITING FOR", "MODEL", "REQUESTS", "TOKENS", "OLDEST"];
  const rows = lanes.map(({ endpoint, model, waiting, orMore, tokens, oldestAt }) => {
    const least = (count: number): string | number => (orMore ? `${counted(count)} or more` : count);
    return [endpoint, model, least(waiting), least(tokens), ago(oldestAt, now)];
  });
  return table(head, rows, "Nothing waits for a batch.");
}

function batchTable(batches: readonly BatchRecord[], now: number): string[] {
  const head = ["BATCH", "STATE", "ACCOUNT", "MODEL", "REQUESTS", "OPEN", "FORMED", "PROVIDER'S", "ERROR"];
  const rows = batches.map((batch) => [
    ...[batch.key, batch.state, batch.account, batch.model, batch.requests, batch.remaining],
    ...[ago(batch.createdAt, now), batch.providerBatchId, batch.lastError?.code ?? null],
  ]);
  return table(head, rows, "No batches.");
}
