// `batchFetch`: a dispatcher as the `fetch` of a client that does not use batches itself.

import { invalidOption } from "../core/contract/validate.ts";
import type { Dispatcher } from "./contract/dispatcher.ts";
import { partsOf } from "./dispatcher.ts";
import { type BatchFetchOptions, batchFetchOptions } from "./doors/fetch/batch-fetch-options.ts";
import { FetchDoor } from "./doors/fetch/fetch-door.ts";

/**
 * A `fetch` for a provider's client: model calls become requests of the dispatcher and are answered
 * when their batch has ended. Start the dispatcher first. Calls with equal bodies are one request,
 * even in a second run, which reads successful answers from the store and sends the rest.
 *
 * Give the client a timeout of two days and no retries: a batch may take a day. Calls that no Batch
 * API takes (models, files, `GET`) use the global `fetch`. A call that no account serves is
 * answered 404 and never sent live; one with `stream: true` is answered 400.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range, or for a dispatcher that `createDispatcher` did not make.
 *
 * @example
 * ```ts
 * import { batchFetch, type Dispatcher } from "batchwise/dispatch";
 * import OpenAI from "openai";
 * async function ask(dispatcher: Dispatcher, questions: readonly string[]): Promise<void> {
 *   await dispatcher.start();
 *   const client = new OpenAI({ fetch: batchFetch(dispatcher), maxRetries: 0, timeout: 172_800_000 });
 *   const answers = await Promise.all(
 *     questions.map((content) =>
 *       client.chat.completions.create({ model: "gpt-5-mini", messages: [{ role: "user", content }] }),
 *     ),
 *   );
 *   console.log(answers.map(({ choices }) => choices[0]?.message.content));
 * }
 * ```
 */
export function batchFetch(dispatcher: Dispatcher, options: BatchFetchOptions = {}): typeof globalThis.fetch {
  const plan = batchFetchOptions(options);
  const parts = partsOf(dispatcher);
  if (parts === undefined) {
    throw invalidOption(TypeError, "Expected a dispatcher of `createDispatcher` as the first argument");
  }
  return new FetchDoor(parts, plan).fetch;
}
