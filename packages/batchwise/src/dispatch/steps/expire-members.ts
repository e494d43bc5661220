// Takes members whose deadline has passed out of a batch that is about to be sent, before anything can have accepted
// it: they end as expired, uncharged. The others keep their places, so the file of the batch has fewer lines than it has
// places from then on.

import type { Failure } from "../contract/account.ts";
import { OUTCOME_CODES } from "../contract/errors.ts";
import type { Settlement } from "../contract/outcome-rows.ts";
import { mayRunUnderToken } from "../decide/after-repeat.ts";
import { type Disposal, EXPIRED } from "../format/payload.ts";
import type { Lease } from "../runtime/lease.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { eachOpen } from "./collect.ts";

const CHUNK = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

/** True when the batch is not to be sent now: nobody is left, or fewer than the provider takes. */
export async function expireMembers(runtime: Runtime, lease: Lease): Promise<boolean> {
  if (!mayExpire(lease, runtime.clock.now())) return false;
  const now = runtime.clock.now();
  const { lane } = lease.batch;
  const late: Settlement[] = [];
  let next = NEVER;
  await eachOpen(runtime, lease, ({ ord, deadlineAt, cancelRequested }) => {
    if (deadlineAt === null || deadlineAt > now) next = Math.min(next, deadlineAt ?? NEVER);
    else late.push(cancelRequested ? cancelled(ord, lane) : expired(ord));
  });
  for (let from = 0; from < late.length; from += CHUNK) await lease.settle(late.slice(from, from + CHUNK));
  return goOnWithout(lease, next === NEVER ? null : next, OUTCOME_CODES.expired);
}

/**
 * After members were taken out: writes the earliest deadline of the others. True when these are too few to be sent; then
 * they go back to their lane.
 */
export async function goOnWithout(lease: Lease, deadlineAt: number | null, code: string): Promise<boolean> {
  // A file that was uploaded before has the lines of all.
  const without = { deadlineAt, providerFileId: null };
  const fewest = Math.max(1, lease.account.capabilities.limits.minRequests);
  if (lease.batch.remaining >= fewest) {
    await lease.write(without);
    return false;
  }
  const disposal: Disposal = { kind: "requeue", code };
  await lease.write({ ...without, state: "collecting", disposal: JSON.stringify(disposal) });
  return true;
}

/** A repeated create of the same token may have been accepted the first time. */
function mayExpire({ batch, account }: Lease, now: number): boolean {
  if (batch.deadlineAt === null || batch.deadlineAt > now) return false;
  return !mayRunUnderToken(batch, account);
}

function expired(ord: number): Settlement {
  return { ord, kind: "final", status: "expired", ...EXPIRED, charged: false };
}

/** The store ends it as cancelled. */
function cancelled(ord: number, lane: string): Settlement {
  return { ord, kind: "requeue", code: OUTCOME_CODES.cancelled, charged: false, notBefore: 0, lane };
}

/** The failure with the lines of the file that it blames turned into places, counted from 1, of the batch. */
export async function blameMembers<F extends Failure | null>(runtime: Runtime, lease: Lease, failure: F): Promise<F> {
  const { batch } = lease;
  if (failure?.kind !== "invalidRequest" || failure.lines.length === 0) return failure;
  if (batch.remaining === batch.requests) return failure;
  const places: number[] = [];
  await eachOpen(runtime, lease, ({ ord }) => {
    places.push(ord + 1);
  });
  return { ...failure, lines: failure.lines.map((fault) => ({ ...fault, line: places[fault.line - 1] ?? 0 })) };
}
