// Records of the memory store: the contract's rows, writable, with a few internal fields. Data and
// small pure helpers; memory-store.ts and its parts have the rules of changes.

import type { DeliveryLogRow, DeliveryState, OutcomeRow } from "../../contract/store/outcome-rows.ts";
import type { BatchRow, Ended, HistoryRow, RequestRow } from "../../contract/store/rows.ts";
import type { Orphan } from "../../contract/types.ts";

type Writable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

export interface MemoryRequest extends Writable<Omit<RequestRow, "body" | "history" | "ended">> {
  readonly body: string;
  readonly history: HistoryRow[];
  readonly digest: string;
  readonly rank: number;
  readonly price?: number;
  outcome: MemoryOutcome | null;
}

export interface MemoryBatch extends Writable<Omit<BatchRow, "orphans">> {
  readonly members: (MemoryRequest | null)[];
  orphans: readonly Orphan[];
  readonly payers: readonly string[];
  /** With each of them, until its last member is settled. */
  readonly reserved: number;
  /** When its reservation stops counting. */
  releaseAt: number;
  /** Number of members that no outcome and no request's history names. */
  gone: number;
}

export interface MemoryDelivery extends Writable<Omit<DeliveryState, "log">> {
  readonly outcome: MemoryOutcome;
  readonly log: DeliveryLogRow[];
}

export interface MemoryOutcome extends Omit<OutcomeRow, "deliveries"> {
  readonly deliveries: MemoryDelivery[];
}

export function requestRow(request: MemoryRequest, bodies: boolean, history: boolean): RequestRow {
  const { digest: _digest, rank: _rank, price: _price, outcome, ...row } = request;
  const ended = outcome === null ? null : endedOf(outcome);
  const texts = bodies ? {} : { body: null, turns: null };
  return { ...row, ...texts, ended, history: history ? [...row.history] : null };
}

function endedOf({ status, code, batchKey, cursor, recordedAt }: MemoryOutcome): Ended {
  return { status, code, batchKey, cursor, recordedAt };
}

export function batchRow(batch: MemoryBatch): BatchRow {
  const { members: _members, releaseAt: _releaseAt, gone: _gone, payers: _payers, reserved: _reserved, ...row } = batch;
  return row;
}

export function outcomeRow(outcome: MemoryOutcome, deliveries: boolean): OutcomeRow {
  const states = outcome.deliveries.map(({ sink, state, attempt, nextAt, log }) => ({
    sink,
    state,
    attempt,
    nextAt,
    log: [...log],
  }));
  return { ...outcome, deliveries: deliveries ? states : null };
}
