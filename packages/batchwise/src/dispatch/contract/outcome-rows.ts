// The rows of outcomes and of their deliveries that go in and out of a Store; rows.ts has those of
// requests, batches and lanes. Plain data with no optional place on the way out: null means none.
// Types only.

import type { TokenCounts } from "./rows.ts";
import type { OutcomeStatus } from "./types.ts";

/** The decision about one member. */
export type Settlement =
  | {
      readonly ord: number;
      readonly kind: "final";
      readonly status: OutcomeStatus;
      readonly payload: string;
      /** Of the payload's error; null where it has none. */
      readonly code: string | null;
      /** What the provider counted; null where it gave nothing. */
      readonly usage: TokenCounts | null;
      readonly charged: boolean;
    }
  | {
      readonly ord: number;
      readonly kind: "requeue";
      readonly code: string;
      readonly charged: boolean;
      readonly notBefore: number;
      readonly lane: string;
    };

/** An outcome, as a store keeps it. */
export interface OutcomeRow {
  readonly cursor: number;
  readonly id: string;
  readonly status: OutcomeStatus;
  /** `{ response, error, usage }`. */
  readonly payload: string;
  readonly attempts: number;
  readonly generation: number;
  readonly recordedAt: number;
  readonly tenant: string;
  readonly job: string;
  /** The batch in which the request ended; null where it waited. */
  readonly batchKey: string | null;
  /** Of the payload's error; null where it has none. */
  readonly code: string | null;
  readonly metadata: string | null;
  /** The delivery log; null unless the query asked for it. */
  readonly deliveries: readonly DeliveryState[] | null;
}

/** Which outcomes a store reads, from which cursor on. */
export type OutcomeQuery = (
  | {
      readonly after: number;
      readonly limit: number;
      /** Only those whose delivery to this sink has been given up. Not together with `job`. */
      readonly dead?: string;
      /** Only those of this job. */
      readonly job?: string;
    }
  | { readonly ids: readonly string[] }
) & { readonly deliveries?: boolean };

/** What is left of a delivery. */
export interface DeliveryState {
  readonly sink: string;
  readonly state: "waiting" | "delivered" | "dead";
  readonly attempt: number;
  readonly nextAt: number;
  readonly log: readonly DeliveryLogRow[];
}

/** One try of a delivery. */
export interface DeliveryLogRow {
  readonly attempt: number;
  readonly at: number;
  readonly statusCode: number | null;
  readonly error: string | null;
}

/** A delivery that has been taken: its outcome (without log) and the attempt to report with. */
export interface DeliveryRow {
  readonly sink: string;
  readonly attempt: number;
  readonly outcome: OutcomeRow;
}

/** How a try of a delivery ended. */
export interface DeliveryReport extends DeliveryLogRow {
  readonly cursor: number;
  readonly sink: string;
  readonly result: "delivered" | "retry" | "dead";
  /** When to try again; only read for `retry`. */
  readonly nextAt: number;
}
