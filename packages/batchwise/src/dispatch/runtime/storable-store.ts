// The door of the store: what comes from a provider, a webhook or a callback goes through here on its way in. Guarantees
// what contract/store.ts says a store may rely on: texts that every database takes, of bounded length, and whole numbers of
// tokens. Bodies, payloads and metadata are JSON, which escapes what is odd. Reads go by.

import type { DeliveryReport, Settlement } from "../contract/outcome-rows.ts";
import type { BatchChanges, LedgerChanges, MarkChange } from "../contract/rows.ts";
import type { Amendment, Store } from "../contract/store.ts";
import { storedCode, storedJson, storedMessage, storedTokens } from "../format/stored-code.ts";

/** The last moment that a `Date` can name. */
const LAST_DATE = 8.64e15;

/** The same store. */
export function storableStore(store: Store): Store {
  const door: Pick<Store, "settle" | "transition" | "amend" | "deliveries" | "marks"> = {
    settle: (input) => store.settle({ ...input, items: input.items.map(settlement) }),
    transition: (key, fence, changes, now) => store.transition(key, fence, batchChanges(changes), now),
    amend: (change, sinks, now) => store.amend(amendment(change), sinks, now),
    deliveries: (input) => store.deliveries({ ...input, reports: input.reports.map(report) }),
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

function settlement(item: Settlement): Settlement {
  if (item.kind === "requeue") return { ...item, code: storedCode(item.code) };
  const { code, usage } = item;
  return { ...item, code: orNull(code, storedCode), usage: usage === null ? null : storedTokens(usage) };
}

function amendment(change: Amendment): Amendment {
  return "code" in change ? { ...change, code: storedCode(change.code) } : change;
}

function report(one: DeliveryReport): DeliveryReport {
  return { ...one, error: orNull(one.error, storedMessage) };
}

/** Values are the dispatcher's own words, and JSON. */
function markChange(change: MarkChange): MarkChange {
  return { ...change, name: storedMessage(change.name) };
}

const TEXTS = {
  providerFileId: storedMessage,
  providerBatchId: storedMessage,
  providerState: storedMessage,
  lastError: storedJson,
  disposal: storedJson,
} as const;

function batchChanges(changes: BatchChanges): BatchChanges {
  const { orphans, ledgers, expiresAt } = changes;
  const texts = Object.entries(TEXTS).flatMap(([field, stored]) => {
    const text = changes[field as keyof typeof TEXTS];
    return text === undefined ? [] : [[field, orNull(text, stored)]];
  });
  return {
    ...changes,
    ...Object.fromEntries(texts),
    ...(typeof expiresAt === "number" ? { expiresAt: storedTime(expiresAt) } : {}),
    ...(ledgers === undefined ? {} : { ledgers: ledgers.map(ledgerChanges) }),
    ...(orphans === undefined
      ? {}
      : { orphans: orphans.map((one) => ({ ...one, providerBatchId: storedMessage(one.providerBatchId) })) }),
  };
}

function ledgerChanges(changes: LedgerChanges): LedgerChanges {
  const { note, learnedTokens } = changes;
  return {
    ...changes,
    ...(note === undefined ? {} : { note: orNull(note, storedMessage) }),
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
