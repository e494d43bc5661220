// Tells what is wrong with an account (no money, a bad key, a right that is missing, a wrong
// address) from what is wrong with a request, by the codes and the words of all providers: many
// give both the same status. Pure. Accounts use it for calls and for batches that failed as a
// whole, the dispatcher for single results.

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
 * Families of codes: `cmek_key_disabled`, `enforced_spend_limit_reached`,
 * `linked_organization_billing_unavailable`.
 */
const CODE_FAMILIES = /^cmek_|spend_limit_reached$|_billing_unavailable$/;

/** Whole phrases: a message about a request names credits, keys and payments of its own. */
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

/** True where a refused call, or a batch that failed as a whole, blames the account. */
export function isAccountTrouble(code: string | null, message: string): boolean {
  return (code !== null && isAccountCode(code)) || WORDS.some((words) => words.test(message));
}

function isAccountCode(code: string): boolean {
  return CODES.has(code) || CODE_FAMILIES.test(code);
}

/**
 * What blames the account: `code`, or a status, which is certain; or `words` alone, which may be
 * about the request.
 */
export type AccountBlame = "code" | "words";

/** Null for a result that does not blame the account. */
export function accountBlameOf({ response, error: told }: ResultLine): AccountBlame | null {
  if (response !== null && response.statusCode < 300) return null;
  const error = told ?? (response === null ? null : statusError(response.statusCode, response.body));
  if (error === null) return null;
  if (response?.statusCode === 401 || response?.statusCode === 402 || isAccountCode(error.code)) return "code";
  return isAccountTrouble(null, ownWords(error.message)) ? "words" : null;
}

/** Where a message may begin to quote its request: after a colon, or from a quotation mark on. */
const QUOTE = /:\s|["`“‘]|(?<![a-z])'/i;

function ownWords(message: string): string {
  const at = message.search(QUOTE);
  return at < 0 ? message : message.slice(0, at);
}
