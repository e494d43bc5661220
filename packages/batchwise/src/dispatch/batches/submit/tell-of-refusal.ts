// Reports a batch that was refused as a whole, and an account that refuses every batch: neither
// fails a request, so nothing else would show them.

import { figureWords } from "../../accounts/learned-limit.ts";
import { tellOfPause } from "../../accounts/tell-of-pause.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Failure, Operation } from "../../contract/failures.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Plan } from "../plan.ts";

/**
 * Called once the plan is written. `plan`: as decided, before its requests may go to another
 * account. `isWritten`: its pause, too.
 */
export function tellOfRefusal(
  runtime: Runtime,
  batch: BatchRow,
  plan: Plan,
  isWritten: boolean,
  operation: Operation,
): void {
  if (!plan.lastError || (plan.pauseAccountUntil !== null && !isWritten)) return;
  const context = { account: batch.account, batch: batch.key, operation };
  if (plan.outage === null && plan.pauseAccountUntil !== null) {
    const disproof = operation === "retrieve" ? "results" : "create";
    tellOfPause(runtime, plan.lastError, plan.pauseAccountUntil, disproof, context);
    return;
  }
  if (plan.figures.wholeFailures === undefined) return;
  const { code, message } = plan.lastError;
  const words = `"${code}: ${message}"`;
  if (plan.outage !== null && plan.pauseAccountUntil !== null) {
    if (!runtime.troubles.isNew(batch.account, "ACCOUNT_PAUSED", code, "taken")) return;
    const [since, until] = [plan.outage.since, plan.pauseAccountUntil].map((at) => new Date(at).toISOString());
    const told = `The account "${batch.account}" has refused each batch since ${since}, with ${words}, one of a single request too.`;
    runtime.report(new DispatchError("ACCOUNT_PAUSED", `${told} It is paused until ${until}.`), context);
    return;
  }
  const size = batch.requests === 1 ? "one request" : `${batch.requests} requests`;
  const told = `The batch ${batch.key} of ${size} was refused as a whole, with ${words}.`;
  runtime.report(new DispatchError("BATCH_REFUSED", `${told} ${whatFollows(plan)}`), context);
}

/** Tells of a figure in a refusal for enqueued tokens, once for each. */
export function tellOfFigure(
  runtime: Runtime,
  { account, batch }: Lease,
  failure: Failure,
  operation: Operation,
): void {
  const words = figureWords(failure, account);
  if (words === null) return;
  const context = { account: account.name, batch: batch.key, operation };
  runtime.reportOnce(words, new DispatchError("ACCOUNT_FULL", words), context);
}

function whatFollows({ state, disposal }: Plan): string {
  if (state === "quarantined") return "This has lasted for two days: it is quarantined, for a person to decide.";
  switch (disposal?.kind) {
    case "split":
      return "It is halved.";
    case "canary":
      return "One of its requests is sent alone.";
    case "refuse":
      return "The request ends.";
    default:
      return "It is sent again later.";
  }
}
