// `batchwise jobs cancel`: ends requests that wait, and asks for the cancel of those in batches. The processes that
// dispatch on the store cancel a batch at the provider once nobody in it is wanted any more. Quarantined batches stay, as
// this command cannot cancel them there: it names them.

import type { Store } from "batchwise/dispatch";
import { storeFlag } from "../shared/command-line.ts";
import { listed, plural, print, printJson } from "../shared/print.ts";
import { noAccounts } from "../shared/stand-ins.ts";
import { withStoreOf } from "../shared/with-store.ts";
import type { RequestFlags } from "./jobs-flags.ts";
import { whichRequests } from "./which-requests.ts";

const MOST_BATCHES = 10_000;

interface Found {
  cancelled: number;
  requested: number;
  ended: number;
  not_found: number;
}

export function cancel(ids: readonly string[], flags: RequestFlags): Promise<void> {
  return withStoreOf(
    flags.store,
    async ({ store, dispatcher }) => {
      const found: Found = { cancelled: 0, requested: 0, ended: 0, not_found: 0 };
      for await (const part of whichRequests(store, ids, flags, ["ready", "claimed"])) {
        const { cancelled, requested, ended, notFound } = await dispatcher.cancel(part);
        found.cancelled += cancelled;
        found.requested += requested;
        found.ended += ended;
        found.not_found += notFound;
      }
      const quarantined = found.requested === 0 ? [] : await unwantedAside(store);
      if (flags.json) printJson({ ...found, quarantined });
      else print(sentences(found, quarantined, storeFlag(flags.store)));
    },
    noAccounts,
  );
}

/** Keys of quarantined batches of which no request is wanted any more. */
async function unwantedAside(store: Store): Promise<string[]> {
  const aside = await store.batches({ states: ["quarantined"], limit: MOST_BATCHES });
  const unwanted = aside.filter(({ remaining, cancelRequested }) => remaining > 0 && remaining === cancelRequested);
  return unwanted.map(({ key }) => key);
}

function sentences(
  { cancelled, requested, ended, not_found }: Found,
  quarantined: readonly string[],
  store: string,
): string {
  const counts = { cancelled, "asked for, in batches": requested, "ended before": ended, "not found": not_found };
  const lines = [listed(counts) || "No request matches."];
  if (requested > 0) {
    lines.push("Those in batches end where a dispatcher runs on this store; results that come first count.");
  }
  if (quarantined.length > 0) {
    const batches = plural(quarantined.length, "quarantined batch", "quarantined batches");
    lines.push(`Those of ${batches} wait for a person: the provider may run them, so cancel them there first, then`);
    lines.push(`batchwise jobs requeue ${quarantined.join(" ")}${store} ends them as cancelled.`);
  }
  return lines.join("\n");
}
