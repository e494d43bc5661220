// The log of outcomes and their deliveries. Guarantees cursors from 1 in order of recording, and
// that a delivered outcome is never due again. Knows no batches.

import type { Amended, Amendment, DeliveriesInput } from "../../contract/store/calls.ts";
import type { DeliveryReport, DeliveryRow, OutcomeQuery, OutcomeRow } from "../../contract/store/outcome-rows.ts";
import type { TokenCounts } from "../../contract/store/rows.ts";
import { UsageSums } from "../../contract/store/usage-sums.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import { Deliveries } from "./deliveries.ts";
import { type MemoryDelivery, type MemoryOutcome, type MemoryRequest, outcomeRow } from "./records.ts";
import { known } from "./waiting.ts";

export interface Ending {
  readonly status: OutcomeStatus;
  readonly payload: string;
  readonly code: string | null;
  readonly usage: TokenCounts | null;
  /** The batch in which it ends; null if it waited. */
  readonly batchKey: string | null;
  readonly sinks: readonly string[];
  readonly now: number;
}

export class OutcomeLog {
  /** By cursor - 1; null if a retry has withdrawn the outcome. */
  readonly #log: (MemoryOutcome | null)[] = [];
  /** Neither delivered nor abandoned. */
  readonly #waiting = new Deliveries();
  readonly #dead = new Set<MemoryDelivery>();
  /** By job, in order of recording, including withdrawn outcomes. */
  readonly #jobs = new Map<string, MemoryOutcome[]>();
  readonly usage: UsageSums = new UsageSums();
  readonly counts: Record<OutcomeStatus, number> = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };

  get cursor(): number {
    return this.#log.length;
  }

  get deliveriesWaiting(): number {
    return this.#waiting.size;
  }

  get deliveryDueAt(): number | null {
    return known(this.#waiting.dueAt);
  }

  end(request: MemoryRequest, ending: Ending): void {
    request.state = "ended";
    request.outcome = this.#record(request, ending);
  }

  #record(request: MemoryRequest, ending: Ending): MemoryOutcome {
    const { id, attempts, generation, tenant, job, metadata } = request;
    const { status, payload, code, batchKey, now } = ending;
    const cursor = this.#log.length + 1;
    const owner = { id, attempts, generation, tenant, job, metadata };
    const outcome: MemoryOutcome = {
      cursor,
      ...owner,
      status,
      payload,
      code,
      batchKey,
      recordedAt: now,
      deliveries: [],
    };
    for (const sink of ending.sinks) {
      const delivery: MemoryDelivery = { outcome, sink, state: "waiting", attempt: 0, nextAt: now, log: [] };
      outcome.deliveries.push(delivery);
      this.#waiting.put(delivery);
    }
    this.#log.push(outcome);
    if (job !== "") this.#ofJob(job).push(outcome);
    this.usage.ended(request, status, ending.usage);
    this.counts[status] += 1;
    return outcome;
  }

  /** Removes an outcome from the log, with its undelivered deliveries. */
  takeBack(outcome: MemoryOutcome): void {
    this.#log[outcome.cursor - 1] = null;
    for (const delivery of outcome.deliveries) {
      this.#waiting.remove(delivery);
      this.#dead.delete(delivery);
    }
  }

  /** At most `limit` outcomes with higher cursors. */
  look(after: number, limit: number): MemoryOutcome[] {
    const found: MemoryOutcome[] = [];
    for (let place = after; place < this.#log.length && found.length < limit; place += 1) {
      const outcome = this.#log[place];
      if (outcome) found.push(outcome);
    }
    return found;
  }

  /** Drops withdrawn outcomes at the front of a job's list. */
  trim(job: string): void {
    const outcomes = this.#jobs.get(job) ?? [];
    const first = outcomes.findIndex((outcome) => this.#log[outcome.cursor - 1] === outcome);
    outcomes.splice(0, first === -1 ? outcomes.length : first);
  }

  after(query: Extract<OutcomeQuery, { after: number }>): OutcomeRow[] {
    if (query.dead !== undefined) {
      const dead = this.#deadOf(query.dead, query.after, query.limit);
      return dead.map(({ outcome }) => outcomeRow(outcome, query.deliveries ?? false));
    }
    const log = query.job === undefined ? this.#log : (this.#jobs.get(query.job) ?? []);
    const rows: OutcomeRow[] = [];
    for (let place = firstAfter(log, query.after); place < log.length && rows.length < query.limit; place += 1) {
      const outcome = log[place];
      if (outcome && this.#log[outcome.cursor - 1] === outcome) {
        rows.push(outcomeRow(outcome, query.deliveries ?? false));
      }
    }
    return rows;
  }

  deliver({ reports, take, now }: DeliveriesInput): DeliveryRow[] {
    for (const report of reports) this.#book(report);
    if (take === null) return [];
    const taken = this.#waiting.take(take.sinks, take.limit, now, take.leaseUntil);
    return taken.map(({ sink, attempt, outcome }) => ({ sink, attempt, outcome: outcomeRow(outcome, false) }));
  }

  redeliver({ sink, after, limit }: Extract<Amendment, { kind: "redeliver" }>, now: number): Amended[] {
    return this.#deadOf(sink, after, limit).map((delivery) => {
      this.#dead.delete(delivery);
      Object.assign(delivery, { state: "waiting", nextAt: now });
      this.#waiting.put(delivery);
      return { id: delivery.outcome.id, result: "changed" };
    });
  }

  #ofJob(job: string): MemoryOutcome[] {
    const known = this.#jobs.get(job);
    if (known !== undefined) return known;
    const outcomes: MemoryOutcome[] = [];
    this.#jobs.set(job, outcomes);
    return outcomes;
  }

  #deadOf(sink: string, after: number, limit: number): MemoryDelivery[] {
    const dead = [...this.#dead].filter((one) => one.sink === sink && one.outcome.cursor > after);
    return dead.sort((a, b) => a.outcome.cursor - b.outcome.cursor).slice(0, limit);
  }

  hasten(after: number, now: number): void {
    this.#waiting.hasten(after, now);
  }

  #book({ cursor, sink, result, nextAt, attempt, at, statusCode, error }: DeliveryReport): void {
    const delivery = this.#log[cursor - 1]?.deliveries.find((one) => one.sink === sink);
    if (delivery === undefined || delivery.log.some((row) => row.attempt === attempt)) return;
    delivery.log.push({ attempt, at, statusCode, error });
    if (delivery.state === "delivered") return;
    if (result !== "delivered" && attempt !== delivery.attempt) return;
    delivery.state = result === "retry" ? "waiting" : result;
    if (result === "dead") this.#dead.add(delivery);
    else this.#dead.delete(delivery);
    if (result === "retry") {
      delivery.nextAt = nextAt;
      this.#waiting.put(delivery);
    } else this.#waiting.remove(delivery);
  }
}

/** Index of the first outcome with a higher cursor; in a log without gaps it is the cursor. */
function firstAfter(log: readonly (MemoryOutcome | null)[], after: number): number {
  let [low, high] = [0, log.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const cursor = log[middle]?.cursor ?? middle + 1;
    if (cursor <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
