// Placeholder accounts for a store's batches, in commands that only change the store's contents.
// They call no provider: a step that would is refused, and left to the processes that have the key.

import type { Account, BatchRow, Store } from "batchwise/dispatch";
import { CommandError, EXIT } from "./failures.ts";

const BATCHES = 10_000;

/** One for each account of the store's open batches, and at least one. */
export async function standIns(store: Store): Promise<Account[]> {
  const open: BatchRow["state"][] = [
    ...(["sealed", "submitting", "unknown", "waiting_capacity"] as const),
    ...(["submitted", "running", "collecting", "quarantined"] as const),
  ];
  const batches = await store.batches({ states: open, limit: BATCHES });
  const names = new Set(batches.map(({ account }) => account));
  return names.size === 0 ? noAccounts() : [...names].map(standIn);
}

/** For commands that must not release a batch: its release calls the provider once to cancel it. */
export function noAccounts(): Account[] {
  return [standIn("none")];
}

function standIn(name: string): Account {
  const refuse = (): never => {
    throw new CommandError(`This command does not call the provider of the account "${name}".`, EXIT.failed);
  };
  const refuseLater = async (): Promise<never> => refuse();
  return {
    ...{ name, models: null, weight: 1, pollMs: 30_000, requestTimeoutMs: 60_000, reconcileGraceMs: 300_000 },
    capabilities: {
      ...{
        provider: name,
        endpoints: [],
        maxInlineBytes: Infinity,
        tag: "none",
        listsFiles: false,
        ledgerScope: "account",
      },
      list: { paged: false, pageSize: 100, newestFirst: true },
      limits: {
        ...{ maxRequests: Infinity, maxBytes: Infinity, maxTokens: Infinity, minRequests: 1 },
        ...{ maxEnqueuedTokens: Infinity, maxEnqueuedRequests: Infinity, maxEnqueuedBatches: Infinity },
      },
    },
    ...{ encodeLine: refuse, checkBody: refuse, create: refuseLater, list: refuseLater, retrieve: refuseLater },
    ...{ cancel: refuseLater, results: refuse },
    classify: () => ({ kind: "unknown", code: "not_called", message: "This command calls no provider." }),
  };
}
