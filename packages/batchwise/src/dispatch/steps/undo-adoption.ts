// Undoes the adoption of a provider batch that was only a guess. It is noted as foreign, so that this batch does not
// guess it again, while the batch that it belongs to still may.

import { nextLookAt } from "../decide/life-cycle.ts";
import type { Tenure } from "../runtime/lease.ts";
import type { Room } from "../runtime/runtime.ts";

const BUSY_MS = 5_000;

/**
 * The guess was wrong: the provider's batch is a stranger's, and ours is still to be found. While another create of the
 * account is unresolved the batch keeps its wrong id: two at once would each wait for the other.
 */
export async function giveBack(room: Room, tenure: Tenure): Promise<void> {
  const { account, batch } = tenure;
  const now = room.clock.now();
  const providerBatchId = batch.providerBatchId as string;
  const given = await tenure.end({
    state: "unknown",
    exclusive: true,
    unknownSince: now,
    providerBatchId: null,
    verified: true,
    providerState: null,
    expiresAt: null,
    orphans: [{ providerBatchId, seenAt: now, action: "foreign" }],
    nextAt: nextLookAt({ ...batch, unknownSince: now }, account, now),
  });
  if (!given.ok) await tenure.end({ nextAt: now + BUSY_MS });
}
