// Rows of outcomes and deliveries that a Store takes and returns; rows.ts has the others. Plain
// data. Returned rows have no optional field: null means none. Types only.

import type { OutcomeStatus } from "../types.ts";
import type { Appended, TokenCounts } from "./rows.ts";

/** The decision about one member. */
export type Settlement = Decision & {
  /**
   * What its batch's payers pay for this try. `share`: unknown, so the reservation of an average
   * member. Absent: nothing.
   */
  readonly price?: number | "share";
};

type Decision =
  | {
      readonly ord: number;
      readonly kind: "final";
      readonly status: OutcomeStatus;
      readonly payload: string;
      /** The payload error's code; null if there is none. */
      readonly code: string | null;
      /** The provider's counts; null if there are none. */
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
      /** Absent: turns, bytes and tokens stay. */
      readonly appended?: Appended;
      /** Usage of a try that has run and whose answer does not count. A store ignores it. */
      readonly usage?: TokenCounts | null;
    };

/** An outcome in a store. */
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
  /** The batch in which the request ended; null if it waited. */
  readonly batchKey: string | null;
  /** The payload error's code; null if there is none. */
  readonly code: string | null;
  readonly metadata: string | null;
  /** The delivery log; null unless the query asks for it. */
  readonly deliveries: readonly DeliveryState[] | null;
}

/** Which outcomes to read, and from which cursor. */
export type OutcomeQuery = (
  | {
      readonly after: number;
      readonly limit: number;
      /** Only outcomes whose delivery to this sink was abandoned. Not together with `job`. */
      readonly dead?: string;
      /** Only outcomes of this job. */
      readonly job?: string;
    }
  | { readonly ids: readonly string[] }
) & { readonly deliveries?: boolean };

/** The state of a delivery. */
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

/** A taken delivery: its outcome (without log) and the attempt for the report. */
export interface DeliveryRow {
  readonly sink: string;
  readonly attempt: number;
  readonly outcome: OutcomeRow;
}

/** The result of one try of a delivery. */
export interface DeliveryReport extends DeliveryLogRow {
  readonly cursor: number;
  readonly sink: string;
  readonly result: "delivered" | "retry" | "dead";
  /** Time of the next try; read only for `retry`. */
  readonly nextAt: number;
}
