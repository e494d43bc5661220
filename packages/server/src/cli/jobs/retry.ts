// `batchwise jobs retry`: requests that ended without success wait again, with a full number of
// tries.

import { quoted, storeFlag } from "../common/command-line.ts";
import { plural } from "../common/print.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import type { RetryFlags } from "./jobs-flags.ts";
import { whichRequests } from "./which-requests.ts";

export function retry(ids: readonly string[], flags: RetryFlags): Promise<void> {
  return withStoreOf(flags.store, async ({ dispatcher }) => {
    let [asked, retried] = [0, 0];
    for await (const part of whichRequests(dispatcher, ids, flags, ["failed", "cancelled", "expired"])) {
      asked += part.length;
      retried += await dispatcher.retry(part);
    }
    if (flags.json) {
      printJson({ asked, retried });
      return;
    }
    const others =
      asked === retried ? "" : ` ${plural(asked - retried, "other")} waited already, succeeded or are unknown.`;
    print(`Set to run again: ${plural(retried, "request")}.${others}`);
    if (retried === 0) return;
    const job = flags.job === undefined ? "" : ` --job ${quoted(flags.job)}`;
    print(
      `They run where a dispatcher runs on this store, or with: batchwise run <input>${job}${storeFlag(flags.store)}`,
    );
  });
}
