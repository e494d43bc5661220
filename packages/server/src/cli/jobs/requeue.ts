// `batchwise jobs requeue`: decides about quarantined batches: their requests wait again, or the
// batch continues.

import type { Dispatcher } from "batchwise/dispatch";
import { CommandError, EXIT } from "../common/failures.ts";
import { plural } from "../common/print.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import type { RequeueFlags } from "./jobs-flags.ts";

const MOST = 10_000;

export function requeue(keys: readonly string[], flags: RequeueFlags): Promise<void> {
  return withStoreOf(flags.store, async ({ dispatcher }) => {
    if (keys.length > 0 === (flags.all === true)) throw new CommandError("Expected keys of batches, or --all.");
    const chosen = flags.all ? await quarantined(dispatcher) : keys;
    const changed = flags.resume ? await dispatcher.resume(chosen) : await dispatcher.requeue(chosen);
    if (flags.json) printJson({ asked: chosen.length, changed });
    else print(`${plural(changed, "batch", "batches")} of ${chosen.length} ${flags.resume ? "resumed" : "requeued"}.`);
    if (changed < chosen.length) {
      throw new CommandError("The others are not quarantined, not known, or worked on just now.", EXIT.attention);
    }
  });
}

async function quarantined(dispatcher: Dispatcher): Promise<string[]> {
  const batches = await dispatcher.batches({ states: ["quarantined"], limit: MOST });
  return batches.map(({ key }) => key);
}
