// `providerWebhook`: handles the events that providers send when a batch has ended.

import { invalidOption } from "../core/contract/validate.ts";
import type { Dispatcher } from "./contract/dispatcher.ts";
import { DispatchError } from "./contract/errors.ts";
import { partsOf } from "./dispatcher.ts";
import { type ProviderWebhookOptions, providerWebhookOptions } from "./doors/webhook/provider-webhook-options.ts";
import { WebhookDoor } from "./doors/webhook/webhook-door.ts";

/**
 * A handler for signed events of OpenAI and Gemini (Standard Webhooks; with `keySet`, also Gemini's
 * events of single jobs, with a token and Google's keys). An event that announces the end of a
 * batch makes it due, so that the next process that runs the loops polls it at once. With `runMs`,
 * `runDue` polls it before the answer.
 *
 * Takes a web `Request` and answers 204; 401 for an event that is unsigned, wrongly signed, for
 * another audience or more than five minutes old; 413 above 64 KB; 405 for a method other than
 * POST; and 503 if the store or the key set does not answer, so that the provider sends it again.
 * Repeated, unknown and other events change nothing.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 *   out of range, or for a dispatcher that `createDispatcher` did not make.
 *
 * @example
 * ```ts
 * import { type Dispatcher, providerWebhook } from "batchwise/dispatch";
 * declare const dispatcher: Dispatcher;
 * const hook = providerWebhook(dispatcher, { secrets: "whsec_MDEyMzQ1Njc4OWFiY2RlZg==" });
 * const { status } = await hook(new Request("http://localhost/batches", { method: "POST", body: "{}" }));
 * ```
 */
export function providerWebhook(
  dispatcher: Dispatcher,
  options: ProviderWebhookOptions,
): (request: Request) => Promise<Response> {
  const plan = providerWebhookOptions(options);
  const parts = partsOf(dispatcher);
  if (parts === undefined) {
    throw invalidOption(TypeError, "Expected a dispatcher of `createDispatcher` as the first argument");
  }
  const { runMs } = plan;
  return new WebhookDoor(parts.runtime, plan, runMs === null ? null : () => runDue(dispatcher, runMs)).handle;
}

/** Loops that run need no run. */
async function runDue(dispatcher: Dispatcher, maxMs: number): Promise<void> {
  try {
    await dispatcher.runDue({ maxMs });
  } catch (error) {
    if (!(error instanceof DispatchError) || error.code !== "ALREADY_STARTED") throw error;
  }
}
