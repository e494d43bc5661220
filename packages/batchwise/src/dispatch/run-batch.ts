// Runs a job with an end: requests in, outcomes out. Makes a dispatcher for it and stops it again.

import type { BatchOutcome } from "./contract/job.ts";
import type { BatchLine, DispatchRequest } from "./contract/types.ts";
import { StoreDispatcher } from "./dispatcher.ts";
import { runJob } from "./jobs/run-job.ts";
import { resolveOptions } from "./options/resolve-options.ts";
import { type RunBatchOptions, runBatchOptions } from "./options/run-batch-options.ts";
import { Runtime } from "./runtime/runtime.ts";

/**
 * Runs all `requests` as one job and gives the outcome of each, as they come in. The same call again, with the same `job`
 * and store, resumes it after a crash or a kill, and gives all outcomes again, earlier runs' first: none is lost, and what
 * has run is not sent again. Two processes may run one job at a time; each gets all outcomes. Works from the first
 * `next()` on: reads `requests` while batches run, sends the last batch at once when they end, and ends when all have
 * ended. `break` stops the dispatcher, and so does `signal`; the provider goes on with what it has. The store stays open.
 *
 * Rejects, once the dispatcher has stopped, with the signal's reason; with what `requests` throws; with a DispatchError
 * that names the index for a request that cannot be sent, and DUPLICATE_ID for one that an earlier run had otherwise; and
 * with a QuarantinedError when all that is left waits for a person. Wrong options throw at the call.
 *
 * @example
 * ```ts
 * import { runBatch } from "batchwise/dispatch";
 * import { openaiAccount } from "batchwise/dispatch/openai";
 * import { sqliteStore } from "batchwise/dispatch/sqlite";
 * import OpenAI from "openai";
 * async function translate(texts: readonly string[]): Promise<void> {
 *   const store = sqliteStore({ path: "jobs.sqlite" });
 *   const accounts = [openaiAccount({ client: new OpenAI() })];
 *   const requests = texts.map((content) => ({ body: { model: "gpt-4o-mini", messages: [{ role: "user", content }] } }));
 *   for await (const { index, status, response } of runBatch({ store, accounts, job: "translations", requests })) {
 *     console.log(texts[index], status, response?.body.choices);
 *   }
 *   await store.close();
 * }
 * ```
 */
export function runBatch<Request extends DispatchRequest | BatchLine>(
  options: RunBatchOptions<Request>,
): AsyncIterableIterator<BatchOutcome<Request>> {
  const [own, others] = runBatchOptions(options as RunBatchOptions);
  const resolved = resolveOptions(others);
  const outcomes: AsyncIterableIterator<unknown> = runJob(() => new StoreDispatcher(new Runtime(resolved)), own);
  return outcomes as AsyncIterableIterator<BatchOutcome<Request>>;
}
