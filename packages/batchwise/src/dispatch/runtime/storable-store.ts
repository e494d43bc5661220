// Sanitises values before they are written to the store, from a provider, a webhook or a callback.
// Guarantees the inputs on which a store may rely by contract/store.ts: texts that every database
// accepts, of bounded length, and whole numbers of tokens. Bodies, payloads and metadata are JSON,
// which escapes odd characters. Secrets are removed from all reports, but never from the answer to
// a request. Reads are passed on.

import type { DeliveryReport, Settlement } from "../contract/outcome-rows.ts";
import type { BatchChanges, LedgerChanges, MarkChange } from "../contract/rows.ts";
import type { Amendment, Store } from "../contract/store.ts";
import type { Secrets } from "../format/secrets.ts";
import { storedCode, storedJson, storedMessage, storedTokens } from "../format/stored-code.ts";

/** The last moment that a `Date` can name. */
const LAST_DATE = 8.64e15;

/** The same store. */
export function storableStore(store: Store, secrets: Secrets): Store {
  const door: Pick<Store, "settle" | "transition" | "amend" | "deliveries" | "marks"> = {
    settle: (input) => store.settle({ ...input, items: input.items.map((item) => settlement(item, secrets)) }),
    transition: (key, fence, changes, now) => store.transition(key, fence, batchChanges(changes, secrets), now),
    amend: (change, sinks, now) => store.amend(amendment(change, secrets), sinks, now),
    deliveries: (input) => store.deliveries({ ...input, reports: input.reports.map((one) => report(one, secrets)) }),
    marks: (changes, now) => store.marks(changes.map(markChange), now),
  };
  return new Proxy(store, {
    get(_store, name) {
      if (Object.hasOwn(door, name)) return door[name as keyof typeof door];
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
}

function settlement(item: Settlement, secrets: Secrets): Settlement {
  const code = orNull(item.code, (text) => storedCode(secrets.text(text)));
  if (item.kind === "requeue") return { ...item, code: code ?? "" };
  const payload = item.status === "succeeded" ? item.payload : secrets.text(item.payload);
  return { ...item, code, payload, usage: item.usage === null ? null : storedTokens(item.usage) };
}

function amendment(change: Amendment, secrets: Secrets): Amendment {
  if (!("code" in change)) return change;
  return { ...change, payload: secrets.text(change.payload), code: storedCode(secrets.text(change.code)) };
}

function report(one: DeliveryReport, secrets: Secrets): DeliveryReport {
  return { ...one, error: orNull(one.error, (error) => storedMessage(secrets.text(error))) };
}

/** Values are the dispatcher's own words, and JSON. */
function markChange(change: MarkChange): MarkChange {
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

function batchChanges(changes: BatchChanges, secrets: Secrets): BatchChanges {
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
