// Takes members that would miss their deadline out of an unsent batch, if a fallback account takes
// them now and is sooner: they go to the urgent lane, uncharged. Reads the store only if there are
// a deadline and a fallback account.

import { LEAST_TRIAL_MS, outlookOf, type Prospect } from "../../accounts/deadlines.ts";
import { maySendAt } from "../../accounts/outage.ts";
import { fewestOf, servingOf } from "../../accounts/rank-accounts.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { BatchState } from "../../contract/types.ts";
import { parseLane, urgentLane } from "../../format/encode.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { openMembers } from "../../runtime/store/pages.ts";
import type { Plan } from "../plan.ts";
import { DEADLINE_LEAD_MS } from "../seal/thresholds.ts";
import { mayRunUnderToken } from "./after-repeat.ts";
import { forgetFile, goOnWithout } from "./expire-members.ts";

const NEVER = Number.POSITIVE_INFINITY;
const CODE = "deadline_too_near";
/**
 * How often a waiting batch is checked, in ms, so that its members can move when a fallback account
 * becomes free.
 */
const LOOK_AGAIN_MS = 60_000;
const LAST_LOOK_MS = 15_000;
/** States of batches at the provider or on the way. Their time predicts the next one's. */
const UNDER_WAY: readonly BatchState[] = ["submitting", "unknown", "submitted", "running", "collecting"];

/** A check without reading the store. */
export function mayHaveUrgent({ accounts }: Runtime, { batch }: Lease): boolean {
  return batch.deadlineAt !== null && accounts.some(({ capabilities }) => capabilities.fallback === true);
}

/**
 * True if the batch must not be sent now: no member is left, or the others return to their lane.
 */
export async function moveUrgent(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { account, batch } = lease;
  const lane = parseLane(batch.lane);
  const { first, second } = servingOf(runtime.accounts, lane);
  if (second.length === 0 || lane.urgent || account.capabilities.fallback === true) return false;
  if (batch.deadlineAt === null || mayRunUnderToken(batch, account)) return false;
  const own = await prospectOf(runtime, lease);
  const fallback = await runtime.prospects.of(second, lane, await runtime.ledgers(), runtime.lastPauses, true);
  const { lateBefore, rescued } = outlookOf([own], fallback, batch.deadlineAt, runtime.clock.now());
  if (rescued === 0 || batch.deadlineAt >= lateBefore) return false;
  const { late, next } = await lateMembers(runtime, lease, lateBefore, await trialSize(runtime, lease, own), rescued);
  if (late.length > 0 && late.length < fewestOf([...first, ...second])) return false;
  const back = { kind: "requeue", code: CODE, charged: false, notBefore: 0 } as const;
  const urgent = urgentLane(lane);
  const items = late.map((ord): Settlement => ({ ...back, ord, lane: urgent }));
  if (late.length > 0) {
    await forgetFile(lease);
    await lease.settle(items);
    runtime.prospects.moved(urgent, late.length);
    await runtime.options.failpoint("moving-urgent");
  }
  runtime.sealing.wake();
  return goOnWithout(lease, next, CODE);
}

/** When an unsent batch is checked again: in time for its members to move, if it waits long. */
async function lookBefore(runtime: Runtime, lease: Lease, nextAt: number): Promise<number> {
  const { deadlineAt } = lease.batch;
  if (deadlineAt === null || !mayHaveUrgent(runtime, lease)) return nextAt;
  const { turnaroundMs } = await prospectOf(runtime, lease);
  const now = runtime.clock.now();
  const lateAt = deadlineAt - Math.max(turnaroundMs, DEADLINE_LEAD_MS);
  return Math.min(nextAt, Math.max(lateAt, nextLook(deadlineAt, now)));
}

/** The plan, with an earlier check if the batch waits unsent. */
export async function withLook(runtime: Runtime, lease: Lease, plan: Plan): Promise<Plan> {
  if (plan.state !== "sealed" && plan.state !== "waiting_capacity") return plan;
  return { ...plan, nextAt: await lookBefore(runtime, lease, plan.nextAt) };
}

/** When a batch that its account delays is checked again. */
export function lookAgainAt(runtime: Runtime, lease: Lease, until: number): number {
  const { deadlineAt } = lease.batch;
  if (deadlineAt === null || !mayHaveUrgent(runtime, lease)) return until;
  return Math.min(until, nextLook(deadlineAt, runtime.clock.now()));
}

/** Regularly, and once shortly before the deadline. */
function nextLook(deadlineAt: number, now: number): number {
  const last = deadlineAt - LAST_LOOK_MS;
  return last > now ? Math.min(last, now + LOOK_AGAIN_MS) : now + LOOK_AGAIN_MS;
}

/**
 * The prospect of the batch's own account. The batch has its reservation, so a reached limit does
 * not count. If the account has refused the batch, its opening time is unknown.
 */
async function prospectOf(runtime: Runtime, { account, batch }: Lease): Promise<Prospect> {
  const [ledgers, pauses] = await Promise.all([runtime.ledgers(), runtime.readPauses()]);
  const [prospect] = await runtime.prospects.of([account], parseLane(batch.lane), ledgers, pauses, false);
  const now = runtime.clock.now();
  const sendAt = Math.max(now, maySendAt(batch, ledgers.get(account.name), now));
  const isUntold = pauses.accounts.has(account.name) || batch.submitAttempt > 0;
  return { ...(prospect as Prospect), opensAt: isUntold ? NEVER : sendAt };
}

/**
 * How many members the batch keeps although all are late, because the account's batch time is
 * unknown and no other batch would show it. 0 for any other batch.
 */
async function trialSize(runtime: Runtime, { account, batch }: Lease, own: Prospect): Promise<number> {
  if (own.isKnown || own.opensAt > runtime.clock.now() || batch.submitAttempt > 0) return 0;
  const [other] = await runtime.store.batches({ account: account.name, states: UNDER_WAY, limit: 1 });
  return other === undefined ? Math.max(1, account.capabilities.limits.minRequests) : 0;
}

/**
 * Places of members to move, and the next deadline of the others. `kept`: if all were to move, this
 * many stay if they have enough time. At most `most` move.
 */
async function lateMembers(
  runtime: Runtime,
  lease: Lease,
  lateBefore: number,
  kept: number,
  most: number,
): Promise<{ readonly late: readonly number[]; readonly next: number | null }> {
  const late: { readonly ord: number; readonly deadlineAt: number }[] = [];
  let next = NEVER;
  for await (const page of openMembers(runtime.store, lease.batch.key)) {
    for (const { ord, deadlineAt } of page) {
      if (deadlineAt !== null && deadlineAt < lateBefore) late.push({ ord, deadlineAt });
      else next = Math.min(next, deadlineAt ?? NEVER);
    }
  }
  const { requests, remaining } = lease.batch;
  late.sort((a, b) => a.deadlineAt - b.deadlineAt || a.ord - b.ord);
  const hasTime = (late.at(-kept)?.deadlineAt ?? 0) >= runtime.clock.now() + LEAST_TRIAL_MS;
  const isTrial = kept > 0 && requests > kept && late.length === remaining && hasTime;
  const [later] = late.splice(Math.min(most, isTrial ? late.length - kept : late.length));
  next = Math.min(next, later?.deadlineAt ?? NEVER);
  return { late: late.map(({ ord }) => ord), next: next === NEVER ? null : next };
}
