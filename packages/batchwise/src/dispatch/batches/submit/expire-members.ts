// Takes members whose deadline has passed out of a batch that is about to be sent, before anything
// can have accepted it: they end as expired, uncharged. The others keep their places, so the file
// of the batch has fewer lines than it has places from then on. Where results are named by their
// place among the lines, or too few are left, the others go back to their lane instead.

import { OUTCOME_CODES } from "../../contract/errors.ts";
import type { Failure } from "../../contract/failures.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { BatchChanges } from "../../contract/store/rows.ts";
import { atOnce } from "../../format/at-once.ts";
import { parseLane } from "../../format/encode.ts";
import { EXPIRED } from "../../format/payload.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { openMembers } from "../../runtime/store/pages.ts";
import { takeApart } from "../apply-plan.ts";
import { mayRunUnderToken } from "./after-repeat.ts";

const NEVER = Number.POSITIVE_INFINITY;

/**
 * True if the batch must not be sent now: no member is left, or the others go back to their lane.
 */
export async function expireMembers(runtime: Runtime, lease: Lease): Promise<boolean> {
  const now = runtime.clock.now();
  const { lane, deadlineAt } = lease.batch;
  // A repeated create of the same token may have been accepted the first time.
  if (mayRunUnderToken(lease.batch, lease.account)) return false;
  // The last owner may have died after it took members out and before it wrote the consequence.
  if (deadlineAt === null || deadlineAt > now) return goesBack(lease, {}, OUTCOME_CODES.expired);
  const late: Settlement[] = [];
  let next = NEVER;
  for await (const page of openMembers(runtime.store, lease.batch.key)) {
    for (const { ord, deadlineAt, cancelRequested } of page) {
      if (deadlineAt === null || deadlineAt > now) next = Math.min(next, deadlineAt ?? NEVER);
      else late.push(cancelRequested ? cancelled(ord, lane) : expired(ord));
    }
  }
  if (late.length > 0) await forgetFile(lease);
  await lease.settle(late);
  return goOnWithout(lease, next === NEVER ? null : next, OUTCOME_CODES.expired);
}

/**
 * Before members are taken out: a file that was uploaded before has the lines of all. If this
 * process dies meanwhile, the next one must not send it.
 */
export async function forgetFile(lease: Lease): Promise<void> {
  if (lease.batch.providerFileId !== null) await lease.write({ providerFileId: null, filePendingSince: null });
}

/**
 * After members were taken out: writes the earliest deadline of the others. True when these go back
 * to their lane.
 */
export async function goOnWithout(lease: Lease, deadlineAt: number | null, code: string): Promise<boolean> {
  if (await goesBack(lease, { deadlineAt }, code)) return true;
  await lease.write({ deadlineAt });
  return false;
}

/**
 * Returns the remaining members to their lane, and returns true, if they cannot be sent without the
 * members that have left.
 */
async function goesBack(lease: Lease, changes: BatchChanges, code: string): Promise<boolean> {
  const { account, batch } = lease;
  const isTooSmall = batch.remaining < Math.max(1, account.capabilities.limits.minRequests);
  const needsAll = atOnce(account, "isNamedByPlace", account.isNamedByPlace?.(parseLane(batch.lane).model)) === true;
  if (batch.remaining === batch.requests || !(isTooSmall || needsAll)) return false;
  await takeApart(lease, { kind: "requeue", code }, changes);
  return true;
}

function expired(ord: number): Settlement {
  return { ord, kind: "final", status: "expired", ...EXPIRED, charged: false };
}

/** The store ends it as cancelled. */
function cancelled(ord: number, lane: string): Settlement {
  return { ord, kind: "requeue", code: OUTCOME_CODES.cancelled, charged: false, notBefore: 0, lane };
}

/**
 * The failure with the lines of the file that it blames turned into places, counted from 1, of the
 * batch.
 */
export async function blameMembers<F extends Failure | null>(runtime: Runtime, lease: Lease, failure: F): Promise<F> {
  const { batch } = lease;
  if (failure?.kind !== "invalidRequest" || failure.lines.length === 0) return failure;
  if (batch.remaining === batch.requests) return failure;
  const places: number[] = [];
  for await (const page of openMembers(runtime.store, batch.key)) places.push(...page.map(({ ord }) => ord + 1));
  return { ...failure, lines: failure.lines.map((fault) => ({ ...fault, line: places[fault.line - 1] ?? 0 })) };
}
