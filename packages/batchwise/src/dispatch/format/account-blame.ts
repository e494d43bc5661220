// Distinguishes account problems (no credit, a bad key, a missing permission, a wrong address) from
// request problems by the codes and messages of all providers: many use the same status for both.
// Accounts use it for calls and failed batches, the dispatcher for single results. Pure.

import type { ResultLine } from "../contract/account.ts";
import { statusError } from "./error-words.ts";

const CODES: ReadonlySet<string> = new Set([
  // OpenAI and the services of its shape.
  "access_terminated",
  "account_deactivated",
  "billing_hard_limit_reached",
  "billing_not_active",
  "budget_exceeded",
  "insufficient_balance",
  "insufficient_credits",
  "insufficient_quota",
  "invalid_api_key",
  "organization_deactivated",
  // Anthropic: `type`, or `details.error_code` (resources/shared.d.ts of @anthropic-ai/sdk 1.14).
  "authentication_error",
  "billing_error",
  "claude_code_key_creator_not_member",
  "organization_on_hold",
  "ramp_limit_exceeded",
  "workspace_human_review_disabled",
  // Google, Azure and Amazon.
  "UNAUTHENTICATED",
  "SERVICE_DISABLED",
  "SubscriptionDisabled",
  "SubscriptionNotFound",
  "UnrecognizedClientException",
]);
/**
 * Code families such as `cmek_key_disabled`, `enforced_spend_limit_reached` and
 * `linked_organization_billing_unavailable`.
 */
const CODE_FAMILIES = /^cmek_|spend_limit_reached$|_billing_unavailable$/;

/** Whole phrases, because messages about a request may also mention credits, keys or payments. */
const WORDS: readonly RegExp[] = [
  /(?:out of|insufficient|no(?: more)?|not enough|your) credits?\b|credits? (?:is|are|has|have|balance)\b/i,
  /insufficient (?:balance|funds)|(?:api )?usage limits?\b|spend(?:ing)?[ _-]?(?:cap|limit)/i,
  /payment (?:is )?required|payment (?:method|failed)\b|requires billing|billing to be enabled/i,
  /billing (?:is|has|not|disabled|account|settings|information)|(?:enable|set ?up|update) .{0,40}\bbilling\b/i,
  /check (?:your )?billing|(?:no|inactive|expired|an? active|your|without an?|requires? an?) subscription/i,
  /subscription (?:is|has|plan|required)|budget has been exceeded/i,
  /API key (?:is )?(?:not valid|invalid|expired|not found|revoked|disabled)|(?:invalid|incorrect|expired) API key/i,
  /(?:organization|account|workspace|project) (?:is|has been) (?:disabled|suspended|deactivated|archived|not active)/i,
  /organization[ _]?(?:is )?on[ _]?hold|user location is not supported/i,
];

/** True if a refused call, or a batch that failed as a whole, blames the account. */
export function isAccountTrouble(code: string | null, message: string): boolean {
  return (code !== null && isAccountCode(code)) || WORDS.some((words) => words.test(message));
}

function isAccountCode(code: string): boolean {
  return CODES.has(code) || CODE_FAMILIES.test(code);
}

/**
 * The evidence that blames the account. "code": a code or status, which is certain. "words": only
 * the message, which may be about the request.
 */
export type AccountBlame = "code" | "words";

/** Null if the result does not blame the account. */
export function accountBlameOf({ response, error: own }: ResultLine): AccountBlame | null {
  if (response !== null && response.statusCode < 300) return null;
  const error = own ?? (response === null ? null : statusError(response.statusCode, response.body));
  if (error === null) return null;
  if (response?.statusCode === 401 || response?.statusCode === 402 || isAccountCode(error.code)) return "code";
  return isAccountTrouble(null, ownWords(error.message)) ? "words" : null;
}

/** The start of a possible quote of the request: after a colon, or a quotation mark. */
const QUOTE = /:\s|["`“‘]|(?<![a-z])'/i;

function ownWords(message: string): string {
  const at = message.search(QUOTE);
  return at < 0 ? message : message.slice(0, at);
}
