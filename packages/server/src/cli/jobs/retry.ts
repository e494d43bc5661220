// `batchwise jobs retry`: requests that ended without success wait again, with a full number of
// tries.

import { quoted, storeFlag } from "../common/command-line.ts";
import { EXIT } from "../common/failures.ts";
import { plural } from "../common/print.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import type { RetryFlags } from "./jobs-flags.ts";
import { whichRequests } from "./which-requests.ts";

export function retry(ids: readonly string[], flags: RetryFlags): Promise<void> {
  return withStoreOf(flags.store, async ({ dispatcher, store }) => {
    let [asked, retried, unknown] = [0, 0, 0];
    for await (const part of whichRequests(dispatcher, ids, flags, ["failed", "cancelled", "expired"])) {
      asked += part.length;
      retried += await dispatcher.retry(part);
      if (ids.length > 0) unknown += part.length - (await store.requests({ ids: part })).length;
    }
    if (ids.length > 0 && retried === 0) process.exitCode = EXIT.attention;
    if (flags.json) {
      printJson({ asked, retried, unknown });
      return;
    }
    print(summaryOf(asked, retried, unknown));
    if (retried === 0) return;
    const job = flags.job === undefined ? "" : ` --job ${quoted(flags.job)}`;
    print(
      `They run where a dispatcher runs on this store, or with: batchwise run <input>${job}${storeFlag(flags.store)}`,
    );
  });
}

function summaryOf(asked: number, retried: number, unknown: number): string {
  const others = asked - retried - unknown;
  const left = others === 0 ? "" : ` ${plural(others, "other")} waited already or succeeded.`;
  const missing =
    unknown === 0 ? "" : ` ${plural(unknown, "id")} ${unknown === 1 ? "is" : "are"} unknown to the store.`;
  return `Set to run again: ${plural(retried, "request")}.${left}${missing}`;
}
