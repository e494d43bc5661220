// What a refusal has taught of the tokens that an account takes at a time. It makes batches smaller
// and ends no request, for a day: the limit may have been raised, and the words may have been
// misread. Where the user has given a limit, nothing is learned. Pure.

import type { Account, Failure } from "../../contract/account.ts";
import type { LedgerRow } from "../../contract/rows.ts";

/** How long it holds. */
export const LEARNED_FOR_MS: number = 24 * 3_600_000;

type TokenLimit = Extract<Failure, { kind: "tokenLimit" }>;

/** The learned limit that holds now; Infinity where there is none. */
export function learnedLimit(ledger: Pick<LedgerRow, "learnedTokens" | "learnedAt"> | null, now: number): number {
  if (ledger === null || isLong(ledger, now)) return Number.POSITIVE_INFINITY;
  return ledger.learnedTokens ?? Number.POSITIVE_INFINITY;
}

function isLong({ learnedAt }: Pick<LedgerRow, "learnedAt">, now: number): boolean {
  return learnedAt !== null && learnedAt + LEARNED_FOR_MS <= now;
}

/**
 * True where a batch of so many tokens, which was accepted at `now`, shows that what is stored does
 * not hold.
 */
export function isRefuted(ledger: LedgerRow, tokens: number, now: number): boolean {
  return ledger.learnedTokens !== null && (isLong(ledger, now) || tokens > ledger.learnedTokens);
}

/** The failure without its figure where the user has given a limit. */
export function learnable(failure: Failure, { capabilities }: Pick<Account, "capabilities">): Failure {
  if (failure.kind !== "tokenLimit" || !Number.isFinite(capabilities.limits.maxEnqueuedTokens)) return failure;
  return { ...failure, limitTokens: null } satisfies TokenLimit;
}

/** What the figure of a refusal says to a person; null where there is nothing to say. */
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
