// Delivers outcomes to the user's callback and webhook: at least once each, with a log of every
// attempt, and by one process at a time if the attempt ends within the lease. A failed delivery
// does not change the recorded outcome.

import type { DispatchError } from "../../contract/errors.ts";
import type { DeliveryReport, DeliveryRow } from "../../contract/store/outcome-rows.ts";
import { messageIn, readable } from "../../format/client-error.ts";
import { loggedOutcome } from "../../format/payload.ts";
import type { ResolvedOptions } from "../../options/resolve-options.ts";
import { bounded, HELD_MS, onAbort } from "../../runtime/provider-calls.ts";
import { CALLBACK_SINK, type Runtime, WEBHOOK_SINK } from "../../runtime/runtime.ts";
import { pauseAfterFailure, WEBHOOK_TRIES } from "./delivery-policy.ts";
import { webhookMac } from "./webhook-mac.ts";

const WEBHOOK_TIMEOUT_MS = 15_000;
/** Maximum per take: all of them can time out within one lease. */
const WEBHOOKS_AT_ONCE = 16;
const CALLBACKS_AT_ONCE = 256;

type Webhook = NonNullable<ResolvedOptions["webhook"]>;

type Sink = typeof CALLBACK_SINK | typeof WEBHOOK_SINK;

/** The result of one delivery attempt. */
interface Tried {
  readonly statusCode: number | null;
  readonly error: string | null;
}

export class Deliverer {
  readonly #runtime: Runtime;
  readonly #sink: Sink;
  readonly #atOnce: number;
  readonly #send: (row: DeliveryRow) => Promise<Tried>;
  /** Reports of the last turn, which the next store call writes. */
  #reports: DeliveryReport[] = [];
  /**
   * The store's last data loss when `#reports` were made. After a later loss their cursors name
   * other outcomes.
   */
  #reportsOf: DispatchError | null = null;

  constructor(runtime: Runtime, sink: Sink, atOnce: number, send: (row: DeliveryRow) => Promise<Tried>) {
    this.#runtime = runtime;
    this.#sink = sink;
    this.#atOnce = atOnce;
    this.#send = send;
  }

  /** The loop's turn: writes reports and takes deliveries until none is due. */
  readonly turn = async (): Promise<number> => {
    let nextAt = Number.POSITIVE_INFINITY;
    for (;;) {
      const rows = await this.#exchange();
      if (rows.length === 0) return nextAt;
      this.#reportsOf = this.#runtime.setBack;
      const reports = await this.#deliverAll(rows);
      await this.#runtime.options.failpoint("after-delivery");
      this.#reports = reports;
      for (const { result, nextAt: at } of reports) if (result === "retry") nextAt = Math.min(nextAt, at);
    }
  };

  /**
   * Delivers the rows and returns the reports. A stop waits at most one lease, then drops attempts
   * that still run. A run of limited time does not wait: such attempts are repeated.
   */
  #deliverAll(rows: readonly DeliveryRow[]): Promise<DeliveryReport[]> {
    const { clock, stopping, options, budget } = this.#runtime;
    return new Promise((resolve) => {
      const reports: DeliveryReport[] = [];
      let patience: unknown = null;
      const forget = onAbort([stopping.signal], () => {
        const left = (): DeliveryReport[] => {
          const ended = new Set(reports.map(({ cursor }) => cursor));
          const open = budget === null ? [] : rows.filter(({ outcome }) => !ended.has(outcome.cursor));
          return open.map((row) => this.#cutOff(row));
        };
        const waitedMs = budget === null ? options.leaseMs : 0;
        patience = clock.setTimeout(() => resolve([...reports, ...left()]), waitedMs);
      });
      const tries = rows.map(async (row) => reports.push(await this.#deliver(row)));
      void Promise.all(tries).then(() => {
        forget();
        clock.clearTimeout(patience);
        resolve(reports);
      });
    });
  }

  /**
   * An attempt cut off by the end of the run is not the receiver's failure: the next run retries at
   * once.
   */
  #cutOff({ outcome: { cursor }, sink, attempt }: DeliveryRow): DeliveryReport {
    const at = this.#runtime.clock.now();
    const error = "The time of the run was over.";
    return { cursor, sink, attempt, at, statusCode: null, error, result: "retry", nextAt: at };
  }

  /** Writes the last reports after the loop has stopped. */
  async flush(): Promise<void> {
    if (this.#reports.length > 0) await this.#exchange();
  }

  async #exchange(): Promise<readonly DeliveryRow[]> {
    const { store, clock, options, isStopping } = this.#runtime;
    const now = clock.now();
    if (this.#reportsOf !== this.#runtime.setBack) this.#reports = [];
    const take = { sinks: [this.#sink], limit: this.#atOnce, leaseUntil: now + options.leaseMs };
    const rows = await store.deliveries({ now, reports: this.#reports, take: isStopping ? null : take });
    this.#reports = [];
    return rows;
  }

  async #deliver(row: DeliveryRow): Promise<DeliveryReport> {
    const begunAt = this.#runtime.clock.monotonic();
    const tried = await this.#send(row).catch((error: unknown) => ({
      statusCode: null,
      error: messageIn(readable(error)),
    }));
    if (tried.error !== null && this.#runtime.isCut) return this.#cutOff(row);
    if (tried.error !== null)
      this.#runtime.report(new Error(`Delivery to the ${this.#sink} failed: ${tried.error}`), { operation: "deliver" });
    const at = this.#runtime.clock.now();
    const pauseMs = pauseAfterFailure(this.#sink, row.attempt, this.#runtime.options.retry);
    const result = tried.error === null ? "delivered" : pauseMs === null ? "dead" : "retry";
    if (result === "dead") this.#reportDead(row);
    this.#runtime.events.emit("delivery", () => ({
      ...{ sink: this.#sink, result, attempt: row.attempt, statusCode: tried.statusCode },
      durationMs: this.#runtime.clock.monotonic() - begunAt,
    }));
    return {
      cursor: row.outcome.cursor,
      sink: row.sink,
      attempt: row.attempt,
      at,
      statusCode: tried.statusCode,
      error: tried.error,
      result,
      nextAt: at + (pauseMs ?? 0),
    };
  }

  #reportDead({ outcome }: DeliveryRow): void {
    const call = `redeliver({ sink: "${this.#sink}", after: ${outcome.cursor - 1} })`;
    const message = `Outcome ${outcome.cursor} is not delivered to the ${this.#sink} after ${WEBHOOK_TRIES} tries.`;
    const error = new Error(`${message} deadLetters() lists such outcomes, ${call} tries them again.`);
    this.#runtime.report(error, { operation: "deliver" });
  }
}

export function callbackDeliverer(runtime: Runtime): Deliverer {
  return new Deliverer(runtime, CALLBACK_SINK, CALLBACKS_AT_ONCE, async (row) => {
    const deliver = async () => runtime.options.onOutcome?.(loggedOutcome(row.outcome));
    await runtime.clock.hold(deliver(), HELD_MS);
    return { statusCode: null, error: null };
  });
}

export function webhookDeliverer(runtime: Runtime, webhook: Webhook): Deliverer {
  return new Deliverer(runtime, WEBHOOK_SINK, WEBHOOKS_AT_ONCE, async (row) => {
    const body = JSON.stringify({ type: "outcome", data: loggedOutcome(row.outcome) });
    const seconds = Math.floor(runtime.clock.now() / 1_000);
    const id = deliveryId(row);
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${webhookMac(webhook.secret, id, seconds, body).toString("base64")}`,
    };
    const response = await bounded(runtime, WEBHOOK_TIMEOUT_MS, [], ({ signal }) =>
      webhook.fetch(webhook.url, { method: "POST", headers, body, signal, redirect: "manual" }),
    );
    await response.body?.cancel();
    const { status } = response;
    return { statusCode: status, error: status >= 200 && status < 300 ? null : `The webhook answered ${status}.` };
  });
}

/** Constant over all attempts for one outcome, so that a receiver can detect duplicates. */
function deliveryId(row: DeliveryRow): string {
  return `outcome_${row.outcome.cursor}`;
}
