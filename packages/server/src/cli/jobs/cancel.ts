// `batchwise jobs cancel`: ends requests that wait, and asks for the cancel of those in batches. The processes that
// dispatch on the store cancel a batch at the provider once nobody in it is wanted any more.

import { listed, print, printJson } from "../shared/print.ts";
import { withStoreOf } from "../shared/with-store.ts";
import type { RequestFlags } from "./jobs-flags.ts";
import { whichRequests } from "./which-requests.ts";

export function cancel(ids: readonly string[], flags: RequestFlags): Promise<void> {
  return withStoreOf(flags.store, async ({ store, dispatcher }) => {
    const found = { cancelled: 0, requested: 0, ended: 0, not_found: 0 };
    for await (const part of whichRequests(store, ids, flags, ["ready", "claimed"])) {
      for (const id of part) found[await dispatcher.cancel(id)] += 1;
    }
    if (flags.json) printJson(found);
    else print(sentence(found));
  });
}

function sentence({ cancelled, requested, ended, not_found }: Readonly<Record<string, number>>): string {
  const counts = {
    cancelled: cancelled ?? 0,
    "asked for, in batches": requested ?? 0,
    "ended before": ended ?? 0,
    "not found": not_found ?? 0,
  };
  const later = requested
    ? "\nThose in batches end where a dispatcher runs on this store; results that come first count."
    : "";
  return `${listed(counts) || "No request matches."}${later}`;
}
