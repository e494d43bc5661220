// Events and reports of a lease: changes that its writes made to the batch, requests that ended
// with their tokens, and a batch that has not ended in time.

import { pauseCode } from "../../accounts/outage.ts";
import { LIVE } from "../../batches/life-cycle.ts";
import { ageOf, isStuckSince } from "../../batches/stuck.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { TransitionResult } from "../../contract/store/calls.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { BatchChanges, BatchRow, RequestRow, TokenCounts } from "../../contract/store/rows.ts";
import type { BatchState, OutcomeStatus } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { NO_TOKENS, sumOfTokens } from "../../format/open-requests.ts";
import { batchRecord, errorOf } from "../../format/payload.ts";
import { priceOf } from "../../prices/price.ts";
import type { Runtime } from "../runtime.ts";
import { openMembers } from "../store/pages.ts";

type Written = Extract<TransitionResult, { ok: true }>;
type Member = Pick<RequestRow, "tenant" | "job" | "cancelRequested">;

/** After a write: the batch's state before, the store's answer, and the changes it was given. */
export function tellWritten({ events }: Runtime, before: BatchState, result: Written, changes: BatchChanges): void {
  const { batch: row, written } = result;
  const { key: batch, account, updatedAt: now } = row;
  if (row.state !== before && row.state === "quarantined") {
    events.emit("quarantine", () => {
      const { code, message } = errorOf(row) ?? { code: "unknown", message: "" };
      return { account, batch, code, message, requests: row.remaining };
    });
  }
  if (row.state !== before && row.state === "done") {
    events.emit("batch", () => ({ batch: batchRecord(row), ageMs: now - row.createdAt }));
  }
  for (const [place, change] of (changes.ledgers ?? []).entries()) {
    const { name: ledger, blockedAtLeast = 0, blockedUntil: until = blockedAtLeast, note = null } = change;
    if (until > now && written[place])
      events.emit("pause", () => ({ account, batch, ledger, until, code: pauseCode({ note }) }));
  }
}

/**
 * Reports a batch that has not ended in time to `onError`, with possible actions. `before`: the
 * batch's last write before this lease.
 */
export function tellStuck(runtime: Runtime, batch: BatchRow, before: number): void {
  const { stuckAfterMs } = runtime.options;
  if (!LIVE.includes(batch.state) || !isStuckSince(batch, before, batch.updatedAt, stuckAfterMs)) return;
  const { key, account, state, providerBatchId, providerState } = batch;
  const hours = Math.floor(ageOf(batch, batch.updatedAt) / 3_600_000);
  const there = providerBatchId === null ? "" : `, and the provider says ${providerState} of ${providerBatchId}`;
  const ways = "cancelBatch(key) cancels its requests, abandon(key) lets go of it.";
  const message = `Batch ${key} at ${account} has not ended after ${hours} h: it is ${state}${there}. ${ways}`;
  runtime.report(new DispatchError("BATCH_STUCK", message), { account, batch: key, operation: "work" });
}

/**
 * Counts whose requests end in one batch. The store does not say which decisions counted, so the
 * open members are read.
 */
export class UsageTold {
  readonly #runtime: Runtime;
  /** Open members by place; null until an event has a listener. */
  #open: Map<number, Member> | null = null;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Called before decisions are written. A read that fails costs an event, and nothing else. */
  async prepare(batch: BatchRow): Promise<void> {
    if (this.#open !== null || !this.#runtime.events.hears("usage")) return;
    try {
      this.#open = await readOpen(this.#runtime, batch.key);
    } catch (error) {
      this.#runtime.reportShared(error, { operation: "event" });
    }
  }

  /** Called once they are written. */
  tell(batch: BatchRow, items: readonly Settlement[]): void {
    const open = this.#open;
    if (open === null) return;
    const { endpoint, model } = parseLane(batch.lane);
    const about = { account: batch.account, batch: batch.key, endpoint, model };
    const { events, options } = this.#runtime;
    for (const sums of sumsOf(open, items)) {
      events.emit("usage", () => ({ ...about, ...sums, price: priceOf(sums, model, options.prices) }));
    }
  }
}

async function readOpen({ store }: Runtime, batchKey: string): Promise<Map<number, Member>> {
  const open = new Map<number, Member>();
  for await (const page of openMembers(store, batchKey)) {
    for (const { ord, tenant, job, cancelRequested } of page) open.set(ord, { tenant, job, cancelRequested });
  }
  return open;
}

interface Sums extends TokenCounts {
  readonly tenant: string;
  readonly job: string;
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
}

/**
 * One row per tenant and job that an item ended a request of. Takes the members that were decided
 * out of `open`.
 */
function sumsOf(open: Map<number, Member>, items: readonly Settlement[]): Sums[] {
  const sums = new Map<string, Sums>();
  for (const item of items) {
    const member = open.get(item.ord);
    // A line that came twice counts once, as in the store.
    if (member === undefined || !open.delete(item.ord)) continue;
    // The store ends a requeued member with a pending cancel.
    if (item.kind === "requeue" && !member.cancelRequested) continue;
    const { tenant, job } = member;
    const name = JSON.stringify([tenant, job]);
    const status = item.kind === "final" ? item.status : "cancelled";
    sums.set(name, plus(sums.get(name) ?? { tenant, job, ended: NONE, ...NO_TOKENS }, status, usageOf(item)));
  }
  return [...sums.values()];
}

const NONE = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };

function usageOf(item: Settlement): TokenCounts {
  return item.kind === "final" && item.usage !== null ? item.usage : NO_TOKENS;
}

function plus(sums: Sums, status: OutcomeStatus, tokens: TokenCounts): Sums {
  return { ...sums, ended: { ...sums.ended, [status]: sums.ended[status] + 1 }, ...sumOfTokens(sums, tokens) };
}
