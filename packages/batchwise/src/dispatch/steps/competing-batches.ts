// What the rest of the store says about a batch that cannot be sent: whether its account takes others meanwhile, and
// whether another account would take its requests. It reads only; what follows is decided in plans.ts and written by
// the caller.

import type { BatchRow, LedgerRow } from "../contract/rows.ts";
import type { Plan } from "../decide/after-failure.ts";
import { CLOCK_SKEW_MS } from "../decide/life-cycle.ts";
import { rankAccounts } from "../decide/rank-accounts.ts";
import { isSuspect, type Tally } from "../decide/retry-policy.ts";
import { parseLane } from "../format/encode.ts";
import type { Room } from "../runtime/runtime.ts";

/** Batches looked at, the newest, for one that was taken. */
const LOOKED_AT = 100;
/** How long a batch waits for its own account before another one gets its requests. */
const PATIENCE_MS = 30 * 60_000;

/** True where the account took another batch of the same model since `tally` began. Asked only once it matters. */
export async function othersPass(room: Room, batch: BatchRow, tally: Tally | null): Promise<boolean> {
  if (tally === null || !isSuspect(tally)) return false;
  const { endpoint, model } = parseLane(batch.lane);
  const rows = await room.store.batches({ account: batch.account, limit: LOOKED_AT });
  return rows.some((other) => {
    const lane = parseLane(other.lane);
    if (other.key === batch.key || lane.endpoint !== endpoint || lane.model !== model) return false;
    return other.providerBatchId !== null && (other.submitStartedAt ?? 0) >= tally.since - CLOCK_SKEW_MS;
  });
}

/** True where the batch has waited long enough for its account, and another one is free for its requests. */
export function mayLeave(room: Room, batch: BatchRow, ledgers: ReadonlyMap<string, LedgerRow>): boolean {
  const now = room.clock.now();
  if (now - batch.createdAt < PATIENCE_MS) return false;
  const others = room.accounts.filter(({ name }) => name !== batch.account);
  // One that refuses as well would only send them back: where all are full, waiting is better.
  return rankAccounts(others, parseLane(batch.lane), ledgers, now).some(
    ({ ledger }) => (ledgers.get(ledger)?.strikes ?? 0) === 0,
  );
}

/** The same plan, but where it only waits for the account and another one is free, the requests go back to the lane. */
export function orElsewhere(room: Room, batch: BatchRow, plan: Plan, ledgers: ReadonlyMap<string, LedgerRow>): Plan {
  const waits = plan.state === "waiting_capacity" || plan.pauseAccountUntil !== null;
  if (!waits || !mayLeave(room, batch, ledgers)) return plan;
  const code = plan.lastError?.code ?? "waiting";
  return { ...plan, state: "collecting", nextAt: room.clock.now(), disposal: { kind: "requeue", code } };
}
