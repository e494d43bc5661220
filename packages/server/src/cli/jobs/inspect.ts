// `batchwise jobs inspect <name>`: shows the request, batch or job with this name. Reads only.

import type { BatchRecord, Dispatcher, OutcomeRow, PriceLimit, RequestRow, Store } from "batchwise/dispatch";
import type { StoreFlags } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";
import { counted, dollars, listed, plural } from "../common/print.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import { jsonOf, limitText, pricesOf } from "./job-prices.ts";
import { type JobSums, sumsEver, unsuccessfulNow, withEnds } from "./job-sums.ts";

export function inspect(name: string, { store: url, json }: StoreFlags): Promise<void> {
  return withStoreOf(url, async ({ store, dispatcher }) => {
    const found =
      (await requestOf(store, name)) ??
      (await batchOf(dispatcher, name)) ??
      (await jobOf(store, dispatcher, name)) ??
      null;
    if (found === null) {
      const ids = "a request's id (a job's has the job before it, as in reviews:17)";
      throw new CommandError(`Nothing is named "${name}": expected ${ids}, a batch's key or a job's name.`);
    }
    if (json) printJson(found.json);
    else print(found.lines.map(([field, value]) => `${field.padEnd(FIELD_WIDTH)}${value}`));
  });
}

interface Found {
  readonly json: object;
  readonly lines: readonly (readonly [field: string, value: string])[];
}

const FIELD_WIDTH = 14;

async function requestOf(store: Store, id: string): Promise<Found | null> {
  const [row] = await store.requests({ ids: [id], bodies: true, history: true });
  if (row === undefined) return null;
  const [outcome] = await store.outcomes({ ids: [id] });
  const { body, metadata, ...rest } = row;
  const json = {
    ...{ kind: "request", ...rest, metadata: parsed(metadata), body: parsed(body) },
    outcome:
      outcome === undefined ? null : { ...outcome, payload: parsed(outcome.payload), metadata: parsed(metadata) },
  };
  return { json, lines: requestLines(row, outcome) };
}

function requestLines(row: RequestRow, outcome: OutcomeRow | undefined): [string, string][] {
  const state = row.state === "ended" ? (outcome?.status ?? "ended") : row.state === "claimed" ? "in a batch" : "waits";
  const history = row.history ?? [];
  return [
    ["request", row.id],
    ["state", row.cancelRequested ? `${state}, cancel requested` : state],
    ["lane", row.lane.replaceAll(/ +/g, " ")],
    ...(row.job === "" ? [] : ([["job", row.job]] as [string, string][])),
    ...(row.tenant === "" ? [] : ([["tenant", row.tenant]] as [string, string][])),
    ["enqueued", time(row.createdAt)],
    ["attempts", String(outcome?.attempts ?? row.attempts)],
    ["tokens", `${counted(row.tokens)} (estimated)`],
    ...(row.batchKey === null ? [] : ([["batch", row.batchKey]] as [string, string][])),
    ...history.map(({ batchKey, code, at }): [string, string] => ["sent back", `${code}, ${batchKey}, ${time(at)}`]),
    ...(outcome === undefined ? [] : outcomeLines(outcome)),
    ["body", row.body ?? ""],
  ];
}

function outcomeLines({ recordedAt, payload, batchKey }: OutcomeRow): [string, string][] {
  const { response, error } = JSON.parse(payload) as { readonly response: unknown; readonly error: unknown };
  return [
    ["ended", `${time(recordedAt)}${batchKey === null ? "" : `, in batch ${batchKey}`}`],
    ...(error === null ? [] : ([["error", JSON.stringify(error)]] as [string, string][])),
    ["response", JSON.stringify(response)],
  ];
}

async function batchOf(dispatcher: Dispatcher, key: string): Promise<Found | null> {
  const [batch] = await dispatcher.batches({ keys: [key], limit: 1 });
  return batch === undefined ? null : { json: { kind: "batch", ...batch }, lines: batchLines(batch) };
}

function batchLines(batch: BatchRecord): [string, string][] {
  const { lastError, orphans, providerBatchId } = batch;
  return [
    ["batch", batch.key],
    ["state", batch.state],
    ["account", batch.account],
    ["lane", `${batch.endpoint} ${batch.model}`],
    ["requests", `${counted(batch.requests)}, ${counted(batch.remaining)} of them open`],
    ["size", `${counted(batch.bytes)} bytes, ${counted(batch.tokens)} tokens (estimated)`],
    ["formed", time(batch.createdAt)],
    ["changed", time(batch.updatedAt)],
    ["sent", plural(batch.submitAttempt, "time")],
    ["provider's", providerBatchId === null ? "none" : `${providerBatchId}, ${batch.providerState ?? "not seen yet"}`],
    ...orphans.map(({ providerBatchId: id, action }): [string, string] => ["earlier", `${id}, ${action}`]),
    ...(lastError === null ? [] : ([["error", `${lastError.code}: ${lastError.message}`]] as [string, string][])),
  ];
}

async function jobOf(store: Store, dispatcher: Dispatcher, job: string): Promise<Found | null> {
  const usage = await dispatcher.usage({ job });
  const [ever] = sumsEver(usage);
  if (ever === undefined || job === "") return null;
  const ends = await unsuccessfulNow(store, ever, Number.POSITIVE_INFINITY);
  const sums = withEnds(ever, ends);
  const prices = await pricesOf(store, usage, { job });
  return {
    json: { kind: "job", ...sums, errorCodes: Object.fromEntries(ends.codes), prices: prices.map(jsonOf) },
    lines: [...jobLines(sums, ends.codes), ...prices.map(priceLine)],
  };
}

function jobLines(sums: JobSums, codes: ReadonlyMap<string, number>): [string, string][] {
  const { succeeded, failed, cancelled, expired } = sums;
  return [
    ["job", sums.job],
    ["requests", `${counted(sums.requests)}, ${counted(sums.open ?? 0)} of them open`],
    ["ended", listed({ succeeded, failed, cancelled, expired }) || "none"],
    ["tokens", `${counted(sums.inputTokens)} in, ${counted(sums.outputTokens)} out`],
    ["cost", sums.cost === null ? "not known" : dollars(sums.cost)],
    ["error codes", codeList(codes) || "none"],
  ];
}

function priceLine(price: PriceLimit): [string, string] {
  const { kind, name, spent, reserved } = price;
  const whose = kind === "job" ? "" : `, of all jobs of the tenant ${name}`;
  return ["limit", `${limitText(price)}, ${dollars(spent)} spent, ${dollars(reserved)} reserved${whose}`];
}

/** Most frequent first. */
function codeList(codes: ReadonlyMap<string, number>): string {
  return listed(new Map([...codes].sort(([, one], [, other]) => other - one)));
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

function time(at: number): string {
  return new Date(at).toISOString();
}
