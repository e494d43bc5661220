// Words of providers that say more about a batch, a model or a key than the kind of a `Failure`.
// Accounts keep the provider's code, so that these rules can read it. Pure.

import type { Failure } from "../contract/failures.ts";

/**
 * The batch is too large, so that no proof is needed to make it smaller. OpenAI and Azure:
 * `too_many_tasks`; Anthropic: `request_too_large`; servers and proxies of other formats: 413.
 */
const TOO_LARGE = /too_large|too_many_(?:tasks|requests|items)|http_413/;
/** The account does not serve the model. OpenAI and Azure, in the formats of both. */
const OF_THE_MODEL = /model_not_found|model_mismatch|mismatched_model/;
/** The key is to blame where the status does not say so. */
const OF_THE_KEY = /api[ _-]?key|credential/i;

export function isTooLarge(code: string): boolean {
  return TOO_LARGE.test(code);
}

export function isOfTheModel(code: string): boolean {
  return OF_THE_MODEL.test(code);
}

export function isOfTheKey({ code, message }: Failure): boolean {
  return OF_THE_KEY.test(`${code} ${message}`);
}
