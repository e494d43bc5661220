// Decides what happens to a batch whose create was repeated under its idempotency token and failed
// again. Pure. While the first create may be running, its token stays: another one, or other
// batches of its members, would run them twice.

import type { Failure } from "../../contract/failures.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { BatchCase } from "../batch-case.ts";
import { type StepAccount, UNRESOLVED } from "../life-cycle.ts";
import type { Plan } from "../plan.ts";
import { afterSubmitFailure } from "./after-failure.ts";
import { goesInline } from "./batch-file.ts";

/**
 * True when a create of this batch, as found before its next intent, may have been accepted under
 * the token that the next one carries.
 */
export function mayRunUnderToken(batch: BatchRow, account: StepAccount): boolean {
  if (account.capabilities.tag !== "idempotencyToken" || !UNRESOLVED.includes(batch.state)) return false;
  // The file's id is written before the create is sent; `unknownSince` outlasts a file that was
  // dropped since.
  return batch.unknownSince !== null || goesInline(batch, account) || batch.providerFileId !== null;
}

/**
 * After an upload or a create that failed while an earlier create may run. If the provider blames
 * lines or a token limit, it knows the token: nothing runs, and the refusal counts as usual. No
 * other refusal proves that: the account may be refusing everything.
 */
export function afterFailedRepeat(at: BatchCase, failure: Failure, operation: "upload" | "create"): Plan {
  const plan = afterSubmitFailure(at, failure, operation);
  const isJudged = failure.kind === "tokenLimit" || (failure.kind === "invalidRequest" && failure.lines.length > 0);
  if (operation === "create" && isJudged) return plan;
  const { code, message } = failure;
  const lost = afterSubmitFailure(at, { kind: "unknown", code, message }, "create");
  const { dropFile, pauseAccountUntil, isKeyRefused } = plan;
  return { ...lost, nextAt: Math.max(lost.nextAt, plan.nextAt), dropFile, pauseAccountUntil, isKeyRefused };
}
