// Holds a batch while an operator has paused its account or lane, or the lane pauses by itself.
// Sent batches continue.

import type { BatchRow } from "../contract/rows.ts";
import { healthOf, isKeptBack } from "../decide/sealing/lane-health.ts";
import { isLanePaused } from "../decide/sealing/pauses.ts";
import type { Disposal } from "../format/payload.ts";
import type { Lease } from "../runtime/lease.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { placeOf } from "./lane-health.ts";
import { mayChangeAccount } from "./submit/competing-batches.ts";

/** Maximum delay until other processes see a resume, in ms. */
const LOOK_AGAIN_MS = 60_000;

/** True while nothing new of the batch may be sent. */
export async function isHeld(runtime: Runtime, { account, batch }: Lease): Promise<boolean> {
  const pauses = await runtime.readPauses();
  return pauses.accounts.has(account.name) || isLanePaused(pauses, batch.lane);
}

/**
 * True if the batch is held: then it waits, or its requests go to another account or back to their
 * lane.
 */
export async function waitsForOperator(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { batch } = lease;
  if (!(await isHeld(runtime, lease))) {
    const health = healthOf(runtime.lastPauses.healths, placeOf(batch));
    if (!isUnsent(batch) || !isKeptBack(health, batch.key, runtime.clock.now())) return false;
    const disposal: Disposal = { kind: "requeue", code: "lane_paused" };
    await lease.write({ state: "collecting", disposal: JSON.stringify(disposal) });
    return true;
  }
  const isOfLane = isLanePaused(runtime.lastPauses, batch.lane);
  if (!isOfLane && isUnsent(batch) && mayChangeAccount(runtime, batch, await runtime.ledgers())) {
    const disposal: Disposal = { kind: "requeue", code: "account_paused" };
    await lease.write({ state: "collecting", disposal: JSON.stringify(disposal) });
    return true;
  }
  const hasToken = lease.account.capabilities.tag === "idempotencyToken";
  const isUnresolved = batch.state === "submitting" || batch.state === "unknown";
  // Its create is known not to have happened. Without tags, other creates would wait for it.
  const resolved = isUnresolved && !hasToken ? ({ state: "sealed", unknownSince: null } as const) : {};
  await lease.end((now) => ({ ...resolved, nextAt: now + LOOK_AGAIN_MS }));
  return true;
}

/** True if no create of the batch can be under way. */
export function isUnsent(batch: BatchRow): boolean {
  return (batch.state === "sealed" || batch.state === "waiting_capacity") && batch.unknownSince === null;
}
