// What follows when an account that runs lines itself has broken off a pass: nothing that it can
// run now is wrong, so no request is charged, and the pass begins again after a pause. Pure.

import type { Failure } from "../../contract/failures.ts";
import { backoff } from "../../runtime/backoff.ts";
import { PAUSE_MS } from "../submit/after-failure.ts";

const FIRST_MS = 1_000;
const MOST_MS = 300_000;

export interface AfterBreak {
  readonly waitMs: number;
  /** The same holds for every batch of the account. */
  readonly pausesAccount: boolean;
}

/** `breaks`: passes in a row before this one that broke off without a result. */
export function afterBreak(failure: Failure, breaks: number): AfterBreak {
  if (failure.kind === "authOrBilling") return { waitMs: PAUSE_MS, pausesAccount: true };
  const asked = failure.kind === "rateLimited" ? (failure.retryAfterMs ?? 0) : 0;
  return {
    waitMs: Math.max(asked, backoff(FIRST_MS, MOST_MS, breaks + 1)),
    pausesAccount: failure.kind === "rateLimited",
  };
}
