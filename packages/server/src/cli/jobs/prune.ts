// `batchwise jobs prune`: deletes the contents of old outcomes. Ids and digests are kept, so that
// no request runs again.

import { plural } from "../common/print.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import type { PruneFlags } from "./jobs-flags.ts";

export function prune({ store: url, json, olderThan, status }: PruneFlags): Promise<void> {
  return withStoreOf(url, async ({ dispatcher }) => {
    const options = { olderThanMs: olderThan, ...(status === undefined ? {} : { statuses: status }) };
    const { requests, batches, kept } = await dispatcher.prune(options);
    if (json) {
      printJson({ requests, batches, kept });
      return;
    }
    print(`Pruned: ${plural(requests, "request")} and ${plural(batches, "batch", "batches")}.`);
    if (kept > 0) print(`Kept: ${plural(kept, "outcome")} that \`onOutcome\` or the webhook has not taken yet.`);
  });
}
