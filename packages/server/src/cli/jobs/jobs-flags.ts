// The parsed options of `batchwise jobs …`.

import type { OutcomeStatus } from "batchwise/dispatch";
import type { AccountFlags, StoreFlags } from "../common/arguments.ts";

export interface ListFlags extends StoreFlags {
  readonly limit: number;
}

/** Selects requests: by id, or all that match. */
export interface CancelFlags extends StoreFlags {
  readonly job?: string;
  readonly tenant?: string;
  readonly batch?: string;
}

export interface RetryFlags extends CancelFlags {
  readonly code?: string;
  readonly status?: "failed" | "cancelled" | "expired";
}

export interface OutcomesFlags extends StoreFlags {
  readonly job?: string;
  readonly status?: string;
  readonly after: number;
  readonly output?: string;
  readonly force?: true;
  readonly format: "openai" | "full";
}

export interface RequeueFlags extends StoreFlags {
  readonly all?: true;
  readonly resume?: true;
}

export interface PruneFlags extends StoreFlags {
  /** In milliseconds. */
  readonly olderThan: number;
  readonly status?: readonly OutcomeStatus[];
}

export interface DoctorFlags extends StoreFlags, AccountFlags {}
