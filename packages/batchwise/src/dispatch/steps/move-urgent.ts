// Takes members that could not be back before their deadline out of a batch that is about to be sent, where another account
// is there for them: they go to the urgent lane, uncharged, which only fallback accounts serve. Nothing of the batch has
// been sent before. Costs a read of the store, and that only where a deadline and a fallback account meet.

import type { Settlement } from "../contract/outcome-rows.ts";
import { mayRunUnderToken } from "../decide/after-repeat.ts";
import { servingOf } from "../decide/rank-accounts.ts";
import { turnaroundOf } from "../decide/turnaround.ts";
import { laneName, parseLane } from "../format/encode.ts";
import type { Lease } from "../runtime/lease.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { eachOpen } from "./collect.ts";
import { goOnWithout } from "./expire-members.ts";

/** Ended batches of the account that are looked at. */
const LOOKED_AT = 20;
const CHUNK = 10_000;
const NEVER = Number.POSITIVE_INFINITY;
const CODE = "deadline_too_near";

/** A look without a read of the store. */
export function mayHaveUrgent({ accounts }: Runtime, { batch }: Lease): boolean {
  return batch.deadlineAt !== null && accounts.some(({ capabilities }) => capabilities.fallback === true);
}

/** True when the batch is not to be sent now: nobody is left, or fewer than the provider takes. */
export async function moveUrgent(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { account, batch } = lease;
  if (batch.deadlineAt === null || mayRunUnderToken(batch, account)) return false;
  const lane = parseLane(batch.lane);
  const { fallback } = servingOf(runtime.accounts, lane);
  if (fallback.length === 0 || fallback.some(({ name }) => name === account.name)) return false;
  const done = await runtime.store.batches({ account: account.name, states: ["done"], limit: LOOKED_AT });
  const turnaround = turnaroundOf(done);
  if (turnaround === null) return false;
  const until = runtime.clock.now() + turnaround;
  if (batch.deadlineAt >= until) return false;
  const back = { kind: "requeue", code: CODE, charged: false, notBefore: 0 } as const;
  const urgent = laneName({ ...lane, group: "", urgent: true });
  const near: Settlement[] = [];
  let next = NEVER;
  await eachOpen(runtime, lease, ({ ord, deadlineAt }) => {
    if (deadlineAt !== null && deadlineAt < until) near.push({ ...back, ord, lane: urgent });
    else next = Math.min(next, deadlineAt ?? NEVER);
  });
  for (let from = 0; from < near.length; from += CHUNK) await lease.settle(near.slice(from, from + CHUNK));
  runtime.sealing.wake();
  return goOnWithout(lease, next === NEVER ? null : next, CODE);
}
