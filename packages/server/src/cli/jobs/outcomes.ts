// `batchwise jobs outcomes`: what has been recorded so far, as JSONL. It waits for nothing.

import { createWriteStream } from "node:fs";
import { type LoggedOutcome, type NodeWritable, writeOutcomes } from "batchwise/dispatch";
import { printJson } from "../shared/print.ts";
import { checkIsNotStore } from "../shared/stores.ts";
import { withStoreOf } from "../shared/with-store.ts";
import type { OutcomesFlags } from "./jobs-flags.ts";

export function outcomes(flags: OutcomesFlags): Promise<void> {
  const { store: url, after, job, status, output, format, json } = flags;
  return withStoreOf(url, async ({ dispatcher }) => {
    if (output !== undefined) checkIsNotStore(output, url);
    // A stopped dispatcher gives the log as it is, and ends.
    await dispatcher.stop();
    const log = dispatcher.outcomes({ after, ...(job === undefined ? {} : { job }) });
    const stream = output === undefined ? process.stdout : createWriteStream(output);
    const written = await writeOutcomes(stream as NodeWritable, matching(log, status), { format });
    if (output === undefined) return;
    if (json) printJson({ output, outcomes: written });
    else console.error(`${output}: ${written} outcomes`);
  });
}

async function* matching(log: AsyncIterable<LoggedOutcome>, status: string | undefined): AsyncGenerator<LoggedOutcome> {
  for await (const outcome of log) if (status === undefined || outcome.status === status) yield outcome;
}
