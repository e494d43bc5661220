// The answer of one call for one line, and its result line. An answer with a status is the
// server's; a lost call has none. A fault that concerns every line is thrown as an Outage. Pure.

import type { ResultLine } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { statusError } from "../../format/error-words.ts";
import { answeredOrNot } from "../shapes/openai/no-answer.ts";
import { toUsage } from "../shapes/usage.ts";

export type Answer =
  | {
      readonly kind: "answer";
      readonly statusCode: number;
      readonly body: JsonObject;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: "lost"; readonly code: string; readonly message: string; readonly mayRepeat: boolean };

/** No line can run now: the server is down, refuses the key, or demands a long pause. */
export class Outage extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.name = "Outage";
    this.failure = failure;
  }
}

export function toResultLine(customId: string, answer: Answer, endpoint: Endpoint): ResultLine {
  if (answer.kind === "lost") {
    const { code, message } = answer;
    return { customId, response: null, error: { code, message }, usage: null };
  }
  const { statusCode, body } = answer;
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const error = isSuccess ? null : statusError(statusCode, body);
  const read = { customId, response: { statusCode, body }, error, usage: isSuccess ? toUsage(body.usage) : null };
  return answeredOrNot(read, endpoint);
}

const BUSY: ReadonlySet<number> = new Set([429, 503, 529]);
const FIRST_WAIT_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** Pause of the account while its tier is full, in ms. */
const FULL_TIER_WAIT_MS = 60_000;
/** If a server demands a longer pause, the batch goes back to wait in the store. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Delay in ms before the call is repeated; null if this is the result. `repeats`: repeats so far.
 */
export function waitBefore(answer: Answer, repeats: number, maxRetries: number): number | null {
  const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_WAIT_MS * 2 ** repeats);
  if (answer.kind === "lost") return answer.mayRepeat && repeats < maxRetries ? backoff : null;
  const { statusCode, retryAfterMs } = answer;
  if (statusCode < 500 && !BUSY.has(statusCode)) return null;
  if (retryAfterMs !== null && retryAfterMs > LONGEST_WAIT_MS) throw askedToWait(answer, retryAfterMs);
  if (repeats < maxRetries) return retryAfterMs ?? backoff;
  if (isFull(answer)) throw fullTier();
  return null;
}

/** True if OpenAI's flex tier is full. A full tier charges nothing and blames no request. */
function isFull({ statusCode, body }: { readonly statusCode: number; readonly body: JsonObject }): boolean {
  return statusCode === 429 && statusError(statusCode, body).code === "resource_unavailable";
}

function fullTier(): Outage {
  const message = "The server answered 429 `resource_unavailable`: this tier is full for now.";
  return new Outage({ kind: "rateLimited", code: "resource_unavailable", message, retryAfterMs: FULL_TIER_WAIT_MS });
}

/** True if the server is overloaded: then all lines wait. */
export function isBusy(answer: Answer): boolean {
  return answer.kind === "answer" && BUSY.has(answer.statusCode);
}

function askedToWait({ statusCode }: { readonly statusCode: number }, retryAfterMs: number): Outage {
  const message = `The server answered ${statusCode} and asks for a pause of ${Math.ceil(retryAfterMs / 1000)} s.`;
  return new Outage({ kind: "rateLimited", code: `http_${statusCode}`, message, retryAfterMs });
}
