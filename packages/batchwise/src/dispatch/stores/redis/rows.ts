// The script's answers as the contract's rows.

import { BATCH_FIELDS } from "../../contract/store/batch-fields.ts";
import type { LedgerRow, MarkRow } from "../../contract/store/ledger-rows.ts";
import type { DeliveryLogRow, DeliveryState, OutcomeRow } from "../../contract/store/outcome-rows.ts";
import type { PayerRow } from "../../contract/store/payers.ts";
import type { LaneRow, Probe } from "../../contract/store/probe.ts";
import type { BatchRow, Ended, HistoryRow, RequestRow, UsageRow } from "../../contract/store/rows.ts";
import { tombstoneRow } from "../../contract/store/tombstone.ts";
import type { BatchState, Orphan, OutcomeStatus } from "../../contract/types.ts";
import type { Reply } from "./server.ts";

export function list(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? reply : [];
}

function text(reply: Reply | undefined): string {
  return String(reply ?? "");
}

function textOrNull(reply: Reply | undefined): string | null {
  return reply === null || reply === undefined ? null : String(reply);
}

export function number(reply: Reply | undefined): number {
  return Number(reply ?? 0);
}

function numberOrNull(reply: Reply | undefined): number | null {
  return reply === null || reply === undefined ? null : Number(reply);
}

/** Field and value in turn. */
function fields(reply: Reply | undefined): Map<string, Reply> {
  const flat = list(reply);
  const all = new Map<string, Reply>();
  for (let n = 0; n + 1 < flat.length; n += 2) all.set(text(flat[n]), flat[n + 1] ?? null);
  return all;
}

export function requestRow(reply: Reply): RequestRow {
  if (list(reply).length === 1) return tombstoneRow(text(list(reply)[0]));
  const [lane, priority, tenant, createdAt, notBefore, deadlineAt, bytes, tokens, attempts, ...rest] = list(reply);
  const [generation, batchKey, ord, wish, metadata, cursor, seq, job, ...ending] = rest;
  const [, , , , , body, history, id, turns] = ending;
  const ended = textOrNull(cursor) === null ? null : endedOf(cursor, ending);
  const unclaimed = ended === null ? "ready" : "ended";
  return {
    ...{ id: text(id), lane: text(lane), state: textOrNull(batchKey) === null ? unclaimed : "claimed" },
    ...{ priority: number(priority), tenant: text(tenant), job: text(job), arrival: number(seq) },
    ...{ createdAt: number(createdAt), notBefore: number(notBefore), deadlineAt: numberOrNull(deadlineAt) },
    ...{ bytes: number(bytes), tokens: number(tokens), attempts: number(attempts), generation: number(generation) },
    ...{ batchKey: textOrNull(batchKey), ord: numberOrNull(ord), cancelRequested: textOrNull(wish) !== null, ended },
    ...{ metadata: textOrNull(metadata), body: textOrNull(body), turns: textOrNull(turns) },
    history: Array.isArray(history) ? history.map(historyRow) : null,
  };
}

function endedOf(cursor: Reply | undefined, [status, code, batchKey, recordedAt]: readonly Reply[]): Ended {
  return {
    ...{ status: text(status) as OutcomeStatus, code: textOrNull(code), batchKey: textOrNull(batchKey) },
    ...{ cursor: number(cursor), recordedAt: number(recordedAt) },
  };
}

function historyRow(line: Reply): HistoryRow {
  const [batchKey, code, at] = JSON.parse(text(line)) as [string | null, string, string];
  return { batchKey, code, at: Number(at) };
}

export function batchRow(reply: Reply): BatchRow {
  const [own, others] = list(reply);
  const raw = fields(own);
  const read = (names: readonly string[], as: (value: Reply | undefined) => unknown): Partial<BatchRow> =>
    Object.fromEntries(names.map((name) => [name, as(raw.get(name))]));
  const flagOrNull = (value: Reply | undefined): boolean | null => {
    const given = textOrNull(value);
    return given === null ? null : given === "1";
  };
  const { texts, textsOrNull, numbers, numbersOrNull, flags, flagsOrNull } = BATCH_FIELDS;
  return {
    ...{ ...read(texts, text), ...read(textsOrNull, textOrNull) },
    ...{ ...read(numbers, number), ...read(numbersOrNull, numberOrNull) },
    ...{ ...read(flags, (value) => text(value) === "1"), ...read(flagsOrNull, flagOrNull) },
    orphans: orphans(others),
  } as BatchRow;
}

function orphans(reply: Reply | undefined): Orphan[] {
  const all = [...fields(reply)].map(([providerBatchId, value]): Orphan => {
    const [seenAt = "", action = ""] = text(value).split(":");
    return { providerBatchId, seenAt: Number(seenAt), action: action as Orphan["action"] };
  });
  return all.sort((a, b) => a.seenAt - b.seenAt || (a.providerBatchId < b.providerBatchId ? -1 : 1));
}

export function outcomeRow(reply: Reply): OutcomeRow {
  const [cursor, id, payload, request, states, log] = list(reply);
  const { tenant, job, metadata, attempts, generation, ended } = requestRow(request ?? null);
  const { status, code, batchKey, recordedAt } = ended ?? endedOf(cursor, []);
  return {
    ...{ cursor: number(cursor), id: text(id), status, payload: text(payload), attempts, generation, recordedAt },
    ...{ tenant, job, batchKey, code, metadata },
    deliveries: Array.isArray(states) ? deliveryStates(states, list(log)) : null,
  };
}

function deliveryStates(states: Reply, log: readonly Reply[]): DeliveryState[] {
  const lines = log.map((line) => JSON.parse(text(line)) as [string, string, string, string | null, string | null]);
  const all = [...fields(states)].map(([sink, value]): DeliveryState => {
    const [state, attempt, nextAt] = JSON.parse(text(value)) as [DeliveryState["state"], string, string];
    const own = lines.filter(([of]) => of === sink).map(logRow);
    own.sort((a, b) => a.at - b.at || a.attempt - b.attempt);
    return { sink, state, attempt: Number(attempt), nextAt: Number(nextAt), log: own };
  });
  return all.sort((a, b) => (a.sink < b.sink ? -1 : 1));
}

function logRow([, attempt, at, code, error]: [string, string, string, string | null, string | null]): DeliveryLogRow {
  return { attempt: Number(attempt), at: Number(at), statusCode: code === null ? null : Number(code), error };
}

export function probeRow(reply: Reply): Probe {
  const [lanes, ledgers, live, meta, waiting, dueAt] = list(reply);
  const counters = fields(meta);
  const counter = (name: string): number => number(counters.get(name));
  const batches: Record<BatchState, number> = {
    ...{ sealed: 0, submitting: 0, unknown: 0, waiting_capacity: 0, submitted: 0 },
    ...{ running: 0, collecting: 0, quarantined: 0, done: counter("done") },
  };
  let inBatches = 0;
  let batchDueAt: number | null = null;
  for (const one of list(live)) {
    const [state, remaining, nextAt, leaseUntil] = list(one);
    batches[text(state) as BatchState] += 1;
    inBatches += number(remaining);
    const due = Math.max(number(nextAt), number(leaseUntil));
    if (state !== "quarantined") batchDueAt = Math.min(batchDueAt ?? due, due);
  }
  const [succeeded, failed, cancelled, expired] = ["succeeded", "failed", "cancelled", "expired"].map(counter);
  return {
    ...{ lanes: list(lanes).map(laneRow), ledgers: list(ledgers).map(ledgerRow), batches, inBatches, batchDueAt },
    outcomes: { succeeded: succeeded ?? 0, failed: failed ?? 0, cancelled: cancelled ?? 0, expired: expired ?? 0 },
    ...{ cursor: counter("cursor"), deliveriesWaiting: number(waiting), deliveryDueAt: numberOrNull(dueAt) },
  };
}

function laneRow(reply: Reply): LaneRow {
  const [lane, ready, bytes, tokens, oldestAt, readySince, deadlineAt, deferredUntil] = list(reply);
  return {
    ...{ lane: text(lane), ready: number(ready), bytes: number(bytes), tokens: number(tokens) },
    ...{ oldestAt: numberOrNull(oldestAt), readySince: numberOrNull(readySince) },
    ...{ deadlineAt: numberOrNull(deadlineAt), deferredUntil: numberOrNull(deferredUntil) },
  };
}

function ledgerRow(reply: Reply): LedgerRow {
  const [name, tokens, requests, batches, learned] = list(reply);
  const raw = fields(learned);
  return {
    ...{ name: text(name), tokens: number(tokens), requests: number(requests), batches: number(batches) },
    ...{ learnedTokens: numberOrNull(raw.get("learnedTokens")), learnedAt: numberOrNull(raw.get("learnedAt")) },
    ...{ blockedUntil: number(raw.get("blockedUntil")), strikes: number(raw.get("strikes")) },
    ...{ note: textOrNull(raw.get("note")), outage: textOrNull(raw.get("outage")) },
  };
}

export function usageRow(reply: Reply): UsageRow {
  const [name, sums] = list(reply);
  const [tenant, job, lane] = JSON.parse(text(name)) as [string, string, string];
  const raw = fields(sums);
  const sum = (field: string): number => number(raw.get(field));
  return {
    ...{ tenant, job, lane, requests: sum("requests") },
    ended: { succeeded: sum("succeeded"), failed: sum("failed"), cancelled: sum("cancelled"), expired: sum("expired") },
    ...{ inputTokens: sum("inputTokens"), cachedTokens: sum("cachedTokens") },
    ...{ outputTokens: sum("outputTokens"), reasoningTokens: sum("reasoningTokens") },
  };
}

export function payerRow(reply: Reply): PayerRow {
  const [name, limit, spent, reserved] = list(reply);
  const most = number(limit);
  return {
    ...{ name: text(name), spent: number(spent), reserved: number(reserved) },
    // JSON has no Infinity.
    limit: most === Number.MAX_VALUE ? Number.POSITIVE_INFINITY : most,
  };
}

export function markRows(reply: Reply): MarkRow[] {
  const all = [...fields(reply)].map(([name, value]) => ({ name, value: text(value) }));
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}
