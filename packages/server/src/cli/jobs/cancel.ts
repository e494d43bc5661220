// `batchwise jobs cancel`: ends requests that wait, and asks for the cancel of those in batches. The processes that
// dispatch on the store cancel a batch at the provider once nobody in it is wanted any more.

import type { CancelCounts } from "batchwise/dispatch";
import { listed, print, printJson } from "../shared/print.ts";
import { withStoreOf } from "../shared/with-store.ts";
import type { CancelFlags } from "./jobs-flags.ts";
import { expectWhich } from "./which-requests.ts";

export function cancel(ids: readonly string[], flags: CancelFlags): Promise<void> {
  const { store: url, json, job, tenant, batch } = flags;
  return withStoreOf(url, async ({ dispatcher }) => {
    expectWhich(ids, flags);
    const filter = {
      ...(job === undefined ? {} : { job }),
      ...(tenant === undefined ? {} : { tenant }),
      ...(batch === undefined ? {} : { batch }),
    };
    const { notFound, ...counts } = await dispatcher.cancel(ids.length > 0 ? ids : filter);
    if (json) printJson({ ...counts, not_found: notFound });
    else print(sentence({ ...counts, notFound }));
  });
}

function sentence({ cancelled, requested, ended, notFound }: CancelCounts): string {
  const counts = {
    cancelled,
    "asked for, in batches": requested,
    "ended before": ended,
    "not found": notFound,
  };
  const later = requested
    ? "\nThose in batches end where a dispatcher runs on this store; results that come first count."
    : "";
  return `${listed(counts) || "No request matches."}${later}`;
}
