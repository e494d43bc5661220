// A limit of enqueued tokens, learned from a refusal. It makes batches smaller for a day and fails
// no request: the limit may have been raised, and the message may have been misread. Nothing is
// learned if the user has given a limit. Pure.

import type { Account } from "../contract/account.ts";
import type { Failure } from "../contract/failures.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";

/** How long it holds, in ms. */
export const LEARNED_FOR_MS: number = 24 * 3_600_000;

type TokenLimit = Extract<Failure, { kind: "tokenLimit" }>;

/** The learned limit that holds now; Infinity if there is none. */
export function learnedLimit(ledger: Pick<LedgerRow, "learnedTokens" | "learnedAt"> | null, now: number): number {
  if (ledger === null || isLong(ledger, now)) return Number.POSITIVE_INFINITY;
  return ledger.learnedTokens ?? Number.POSITIVE_INFINITY;
}

function isLong({ learnedAt }: Pick<LedgerRow, "learnedAt">, now: number): boolean {
  return learnedAt !== null && learnedAt + LEARNED_FOR_MS <= now;
}

/** True if a batch of this many tokens, accepted at `now`, refutes the stored limit. */
export function isRefuted(ledger: LedgerRow, tokens: number, now: number): boolean {
  return ledger.learnedTokens !== null && (isLong(ledger, now) || tokens > ledger.learnedTokens);
}

/** The failure without its limit if the user has given one. */
export function learnable(failure: Failure, { capabilities }: Pick<Account, "capabilities">): Failure {
  if (failure.kind !== "tokenLimit" || !Number.isFinite(capabilities.limits.maxEnqueuedTokens)) return failure;
  return { ...failure, limitTokens: null } satisfies TokenLimit;
}

/** Explains the limit in a refusal; null if there is nothing to report. */
export function figureWords(
  failure: Failure,
  { name, capabilities }: Pick<Account, "name" | "capabilities">,
): string | null {
  if (failure.kind !== "tokenLimit" || failure.limitTokens === null) return null;
  const told = failure.limitTokens.toLocaleString("en-US");
  const given = capabilities.limits.maxEnqueuedTokens;
  const says = `The account "${name}" was refused with a limit of ${told} enqueued tokens`;
  if (!Number.isFinite(given)) {
    return `${says}: its batches are made to fit it for a day. Give \`limits.maxEnqueuedTokens\` to say it yourself.`;
  }
  if (failure.limitTokens >= given) return null;
  return `${says}, and \`limits.maxEnqueuedTokens\` says ${given.toLocaleString("en-US")}: its batches wait, and go on as that says.`;
}
