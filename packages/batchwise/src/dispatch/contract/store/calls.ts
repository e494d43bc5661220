// Argument and result types of the Store's methods; store.ts documents the methods. Types only.

import type { LedgerLimits } from "./ledger-rows.ts";
import type { DeliveryReport, Settlement } from "./outcome-rows.ts";
import type { BatchRow, Correction } from "./rows.ts";

/** The result of one enqueued request; see `Store.enqueue`. */
export type EnqueueResult = "stored" | "same" | "conflict";

/** How to form a batch. */
export interface SealInput {
  /** The new batch's key. A repeated key returns the existing batch and claims nothing. */
  readonly key: string;
  readonly lane: string;
  readonly account: string;
  /** The ledger of the reservation. */
  readonly ledger: string;
  readonly limits: LedgerLimits;
  readonly maxRequests: number;
  readonly maxBytes: number;
  readonly maxTokens: number;
  /** Minimum size of the batch; with fewer requests nothing is claimed. At least 1. */
  readonly minRequests: number;
  /**
   * Sizes to avoid, each above 1. While the batch has one of them, its last request is given back.
   */
  readonly avoidCounts: readonly number[];
  /** Distinct payers of the lane's requests (payers.ts). Absent: no payer. */
  readonly payers?: readonly string[];
  readonly owner: string;
  readonly leaseUntil: number;
  readonly now: number;
}

/** The new batch, or why there is none. */
export type SealResult =
  | { readonly ok: true; readonly batch: BatchRow }
  /** `head`: the first request in claim order, so that the caller sees which one does not fit. */
  | {
      readonly ok: false;
      readonly reason: "empty" | "too_few" | "blocked" | "no_headroom" | "head_too_large" | "price_limit";
      readonly head: { readonly id: string; readonly bytes: number; readonly tokens: number } | null;
    };

/** Which batches to lease, for whom and until when. */
export interface LeaseInput {
  readonly owner: string;
  readonly now: number;
  /** Leases that end at or before this time are free. Same clock as `leaseUntil`. Default `now`. */
  readonly freeAt?: number;
  readonly leaseUntil: number;
  /** Only batches of these accounts. */
  readonly accounts: readonly string[];
  readonly limit: number;
  /** Lease these by key, also if they are not due or have ended. */
  readonly keys?: readonly string[];
}

/** Whether the change was made, or why not. */
export type TransitionResult =
  /**
   * `written`: which of `changes.ledgers`, in order, have changed their ledger, or set a
   * `blockedUntil` that it has already: a write whose answer was lost is repeated.
   */
  | { readonly ok: true; readonly batch: BatchRow; readonly written: readonly boolean[] }
  | { readonly ok: false; readonly reason: "fence" | "busy" | "taken" | "open" };

/** Outcomes to record in one transaction. */
export interface SettleInput {
  readonly key: string;
  readonly fence: number;
  /** Any number; the dispatcher sends about 1,000. If an `ord` repeats, the first item counts. */
  readonly items: readonly Settlement[];
  /** Each new outcome gets a delivery for each of these. */
  readonly sinks: readonly string[];
  /** Payload, and its error's code, for a requeued request with a pending cancel. */
  readonly cancelledPayload: string;
  readonly cancelledCode: string;
  readonly now: number;
}

/** The recorded outcomes, and the number of ignored items. */
export type SettleResult =
  | {
      readonly ok: true;
      readonly applied: number;
      /** Items whose `ord` is no open member: late, repeated or unknown. */
      readonly ignored: number;
      readonly remaining: number;
    }
  | { readonly ok: false; readonly reason: "fence" };

/** An operator's change of requests or batches. */
export type Amendment =
  /** `code`: the error code in `payload`, here and below. */
  | { readonly kind: "cancel"; readonly ids: readonly string[]; readonly payload: string; readonly code: string }
  | { readonly kind: "fail"; readonly ids: readonly string[]; readonly payload: string; readonly code: string }
  | { readonly kind: "expire"; readonly limit: number; readonly payload: string; readonly code: string }
  | {
      readonly kind: "move";
      readonly lane: string;
      /** Their new lane. */
      readonly to: string;
      /** Only requests with an earlier deadline; null for all. */
      readonly before: number | null;
      readonly limit: number;
      /** Moves none if they are fewer. Default: 1. */
      readonly least?: number;
    }
  /** `lanes`: the new lane of each; `corrections`: its new body. Both in the order of `ids`. */
  | {
      readonly kind: "retry";
      readonly ids: readonly string[];
      readonly lanes: readonly string[];
      readonly corrections?: readonly Correction[];
    }
  | { readonly kind: "hasten"; readonly after: number }
  /** `after`: a cursor. */
  | { readonly kind: "redeliver"; readonly sink: string; readonly after: number; readonly limit: number };

/** The result for one request. */
export interface Amended {
  readonly id: string;
  readonly result: "changed" | "requested" | "ended" | "waiting" | "not_found";
}

/** Which deliveries to take, and until when. */
export interface DeliveriesInput {
  readonly now: number;
  readonly reports: readonly DeliveryReport[];
  /** Takes up to `limit` due deliveries of these sinks until `leaseUntil`; null: only reports. */
  readonly take: { readonly sinks: readonly string[]; readonly limit: number; readonly leaseUntil: number } | null;
}
