// Brings what comes from a provider, a webhook or a callback into the form that
// contract/store/store.ts lets a store rely on: texts that every database takes, of bounded length,
// and whole numbers of tokens. Bodies, payloads and metadata are JSON, which escapes what is odd.
// Secrets are blanked, but for the answers of requests. Pure.

import type { Amendment } from "../../contract/store/calls.ts";
import type { LedgerChanges, MarkChange } from "../../contract/store/ledger-rows.ts";
import type { DeliveryReport, Settlement } from "../../contract/store/outcome-rows.ts";
import type { BatchChanges } from "../../contract/store/rows.ts";
import type { Secrets } from "../../format/secrets.ts";
import { storedCode, storedJson, storedMessage, storedTokens } from "../../format/stored-code.ts";

/** The last moment that a `Date` can name. */
const LAST_DATE = 8.64e15;

export function settlement(item: Settlement, secrets: Secrets): Settlement {
  const code = orNull(item.code, (text) => storedCode(secrets.text(text)));
  if (item.kind === "requeue") return { ...item, code: code ?? "" };
  const payload = item.status === "succeeded" ? item.payload : secrets.text(item.payload);
  return { ...item, code, payload, usage: item.usage === null ? null : storedTokens(item.usage) };
}

export function amendment(change: Amendment, secrets: Secrets): Amendment {
  if (!("code" in change)) return change;
  return { ...change, payload: secrets.text(change.payload), code: storedCode(secrets.text(change.code)) };
}

export function report(one: DeliveryReport, secrets: Secrets): DeliveryReport {
  return { ...one, error: orNull(one.error, (error) => storedMessage(secrets.text(error))) };
}

/** Values are the dispatcher's own words, and JSON. */
export function markChange(change: MarkChange): MarkChange {
  return { ...change, name: storedMessage(change.name) };
}

type Stored = (text: string, secrets: Secrets) => string;

/** What the provider names its own by is kept as it is. */
const TEXTS: Readonly<
  Record<"providerFileId" | "providerBatchId" | "providerState" | "lastError" | "disposal", Stored>
> = {
  providerFileId: storedMessage,
  providerBatchId: storedMessage,
  providerState: (text, secrets) => storedMessage(secrets.text(text)),
  lastError: (text, secrets) => storedJson(secrets.text(text)),
  disposal: (text, secrets) => storedJson(secrets.text(text)),
};

export function batchChanges(changes: BatchChanges, secrets: Secrets): BatchChanges {
  const { orphans, ledgers, expiresAt } = changes;
  const texts = Object.entries(TEXTS).flatMap(([field, stored]) => {
    const text = changes[field as keyof typeof TEXTS];
    return text === undefined ? [] : [[field, orNull(text, (each) => stored(each, secrets))]];
  });
  return {
    ...changes,
    ...Object.fromEntries(texts),
    ...(typeof expiresAt === "number" ? { expiresAt: storedTime(expiresAt) } : {}),
    ...(ledgers === undefined ? {} : { ledgers: ledgers.map((one) => ledgerChanges(one, secrets)) }),
    ...(orphans === undefined
      ? {}
      : { orphans: orphans.map((one) => ({ ...one, providerBatchId: storedMessage(one.providerBatchId) })) }),
  };
}

function ledgerChanges(changes: LedgerChanges, secrets: Secrets): LedgerChanges {
  const { note, outage, learnedTokens } = changes;
  return {
    ...changes,
    ...(note === undefined ? {} : { note: orNull(note, (text) => storedMessage(secrets.text(text))) }),
    ...(outage === undefined ? {} : { outage: orNull(outage, (text) => storedJson(secrets.text(text))) }),
    ...(learnedTokens === undefined
      ? {}
      : { learnedTokens: learnedTokens === null ? null : Math.floor(learnedTokens) }),
  };
}

/** Whole milliseconds of a date; null for a number that is none. */
function storedTime(at: number): number | null {
  return Math.abs(at) <= LAST_DATE ? Math.round(at) : null;
}

function orNull(text: string | null, stored: (text: string) => string): string | null {
  return text === null ? null : stored(text);
}
