// `batchwise jobs outcomes`: prints all recorded outcomes as JSONL. Does not wait for more.

import { type LoggedOutcome, type Store, writeOutcomes } from "batchwise/dispatch";
import { storeFlag } from "../common/command-line.ts";
import { CommandError } from "../common/failures.ts";
import { checkIsNotStore } from "../common/stores.ts";
import { printJson, warn } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import { openOutput } from "../run/output-file.ts";
import type { OutcomesFlags } from "./jobs-flags.ts";

export function outcomes(flags: OutcomesFlags): Promise<void> {
  const { store: url, after, job, status, output, force, format, json } = flags;
  return withStoreOf(url, async ({ store, dispatcher }) => {
    if (output !== undefined) checkIsNotStore(output, url);
    if (job !== undefined) await expectJob(store, job, url);
    // A stopped dispatcher yields the recorded log and ends.
    await dispatcher.stop();
    const log = dispatcher.outcomes({ after, ...(job === undefined ? {} : { job }) });
    const file = output === undefined ? null : openOutput(output, force === true);
    const written = await writeOutcomes(file?.stream ?? process.stdout, matching(log, status), { format }).finally(() =>
      file?.release(),
    );
    if (output === undefined) return;
    if (json) printJson({ output, outcomes: written });
    else warn(`${output}: ${written} outcomes`);
  });
}

/** A job whose outcomes were pruned is also known. */
async function expectJob(store: Store, job: string, url: string): Promise<void> {
  if ((await store.usage({ job })).length > 0) return;
  throw new CommandError(`No job is named "${job}"; \`batchwise jobs list${storeFlag(url)}\` shows them.`);
}

async function* matching(log: AsyncIterable<LoggedOutcome>, status: string | undefined): AsyncGenerator<LoggedOutcome> {
  for await (const outcome of log) if (status === undefined || outcome.status === status) yield outcome;
}
