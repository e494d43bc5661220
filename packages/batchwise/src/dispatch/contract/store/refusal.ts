// Why a seal claims nothing. Pure.

import type { SealInput, SealResult } from "./calls.ts";
import type { LedgerLimits } from "./ledger-rows.ts";

export type Refusal = Extract<SealResult, { ok: false }>;

/** What is left of a ledger's limits, and whether it is paused. */
export interface Headroom extends LedgerLimits {
  readonly blocked: boolean;
}

/** Why nothing can be claimed, as far as the first of the lane shows it. */
export function headRefusal(head: Refusal["head"], left: Headroom, input: SealInput): Refusal["reason"] | null {
  if (left.blocked) return "blocked";
  if (head === null) return "empty";
  if (left.batches < 1 || left.requests < 1) return "no_headroom";
  const fitsCaps = head.bytes <= input.maxBytes && head.tokens <= input.maxTokens;
  if (!fitsCaps) return "head_too_large";
  return head.tokens > left.tokens ? "no_headroom" : null;
}
