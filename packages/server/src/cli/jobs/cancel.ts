// `batchwise jobs cancel`: ends waiting requests, and requests the cancel of requests in batches.
// The processes that dispatch on the store cancel a batch at the provider when all its requests are
// cancelled. This command cannot cancel quarantined batches there, so it prints their names.

import type { CancelCounts, Store } from "batchwise/dispatch";
import { storeFlag } from "../common/command-line.ts";
import { listed, plural } from "../common/print.ts";
import { noAccounts } from "../common/stand-ins.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import type { CancelFlags } from "./jobs-flags.ts";
import { expectWhich } from "./which-requests.ts";

const MOST_BATCHES = 10_000;

export function cancel(ids: readonly string[], flags: CancelFlags): Promise<void> {
  const { store: url, json, job, tenant, batch } = flags;
  return withStoreOf(
    url,
    async ({ store, dispatcher }) => {
      expectWhich(ids, flags);
      const filter = {
        ...(job === undefined ? {} : { job }),
        ...(tenant === undefined ? {} : { tenant }),
        ...(batch === undefined ? {} : { batch }),
      };
      const found = await dispatcher.cancel(ids.length > 0 ? ids : filter);
      const { notFound, ...counts } = found;
      const quarantined = found.requested === 0 ? [] : await unwantedAside(store);
      if (json) printJson({ ...counts, not_found: notFound, quarantined });
      else print(sentences(found, quarantined, storeFlag(url)));
    },
    noAccounts,
  );
}

/** Keys of quarantined batches whose requests are all cancelled. */
async function unwantedAside(store: Store): Promise<string[]> {
  const aside = await store.batches({ states: ["quarantined"], limit: MOST_BATCHES });
  const unwanted = aside.filter(({ remaining, cancelRequested }) => remaining > 0 && remaining === cancelRequested);
  return unwanted.map(({ key }) => key);
}

function sentences(
  { cancelled, requested, ended, notFound }: CancelCounts,
  quarantined: readonly string[],
  store: string,
): string[] {
  const counts = { cancelled, "requested, in batches": requested, "ended before": ended, "not found": notFound };
  const lines = [listed(counts) || "No request matches."];
  if (requested > 0) {
    lines.push("Those in batches end where a dispatcher runs on this store; results that come first count.");
  }
  if (quarantined.length > 0) {
    const batches = plural(quarantined.length, "quarantined batch", "quarantined batches");
    lines.push(`Those of ${batches} wait for a person: the provider may run them, so cancel them there first, then`);
    lines.push(`batchwise jobs requeue ${quarantined.join(" ")}${store} ends them as cancelled.`);
  }
  return lines;
}
