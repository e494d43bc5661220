// Prunes old data in steps so small that intake, seals and settles continue in between. An
// interrupted run has done whole steps; the next one does the rest.

import { DispatchError } from "../contract/errors.ts";
import type { OutcomeStatus, PruneResult } from "../contract/types.ts";
import { takeDuty } from "../runtime/duty.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { cutoffs, FIRST_STEP, nextStep } from "./retention.ts";

const EVERY_MS = 600_000;
/** A longer run renews its duty after this time, in ms, so that no other process begins. */
const RENEW_MS = 60_000;
const STATUSES: readonly OutcomeStatus[] = ["succeeded", "failed", "cancelled", "expired"];

interface PruneRun {
  readonly olderThanMs: number;
  readonly statuses: readonly OutcomeStatus[];
  readonly tombstoneRetentionMs: number;
  /** Called before each step; false ends the run. */
  readonly mayGoOn: () => Promise<boolean>;
  /**
   * True if a caller of `prune()` waits for the run: a stop then rejects instead of returning
   * early.
   */
  readonly isAsked: boolean;
}

interface ResolvedPruneOptions {
  readonly olderThanMs: number;
  /** null for all. */
  readonly statuses: readonly OutcomeStatus[] | null;
  /** null for the dispatcher's own. */
  readonly tombstoneRetentionMs: number | null;
}

/** Prunes data that is old enough now. Rejects with CLOSED if the dispatcher stops meanwhile. */
export async function prune(
  runtime: Runtime,
  { olderThanMs, statuses, tombstoneRetentionMs }: ResolvedPruneOptions,
): Promise<PruneResult> {
  return run(runtime, {
    ...{ olderThanMs, statuses: statuses ?? STATUSES },
    tombstoneRetentionMs: tombstoneRetentionMs ?? runtime.options.tombstoneRetentionMs,
    ...{ mayGoOn: async () => true, isAsked: true },
  });
}

/** The loop's turn with a retention: one process at a time prunes, every ten minutes. */
export function retention(runtime: Runtime): () => Promise<number> {
  const { retentionMs, tombstoneRetentionMs } = runtime.options;
  const which =
    retentionMs < Number.POSITIVE_INFINITY
      ? { olderThanMs: retentionMs, statuses: STATUSES, tombstoneRetentionMs }
      : { olderThanMs: Number.MAX_SAFE_INTEGER, statuses: [], tombstoneRetentionMs };
  return async () => {
    const { clock } = runtime;
    if (await takeDuty(runtime, "prune", EVERY_MS)) {
      let renewedAt = clock.monotonic();
      const mayGoOn = async (): Promise<boolean> => {
        if (clock.monotonic() - renewedAt < RENEW_MS) return true;
        renewedAt = clock.monotonic();
        return takeDuty(runtime, "prune", EVERY_MS);
      };
      await run(runtime, { ...which, mayGoOn, isAsked: false });
    }
    return clock.now() + EVERY_MS;
  };
}

async function run(runtime: Runtime, which: PruneRun): Promise<PruneResult> {
  const { events, clock } = runtime;
  const begunAt = clock.monotonic();
  const sum = { requests: 0, batches: 0, kept: 0 };
  try {
    await runInto(sum, runtime, which);
  } finally {
    events.emit("prune", () => ({ ...sum, durationMs: clock.monotonic() - begunAt }));
  }
  return sum;
}

/** `sum`: totals of the completed steps; correct even if a later step throws. */
async function runInto(
  sum: { -readonly [Name in keyof PruneResult]: PruneResult[Name] },
  runtime: Runtime,
  { olderThanMs, statuses, tombstoneRetentionMs, mayGoOn, isAsked }: PruneRun,
): Promise<void> {
  const { store, clock } = runtime;
  const times = cutoffs(clock.now(), olderThanMs, tombstoneRetentionMs);
  let limit = FIRST_STEP;
  for (let after: number | null = 0; after !== null && (await mayGoOn()); ) {
    if (runtime.isStopping && !isAsked) return;
    if (runtime.isStopping) throw new DispatchError("CLOSED", "The dispatcher is stopped.");
    const begunAt = clock.monotonic();
    const step: Awaited<ReturnType<typeof store.prune>> = await store.prune({
      ...{ ...times, statuses, after, limit, now: clock.now() },
    });
    const tookMs = clock.monotonic() - begunAt;
    sum.requests += step.requests;
    sum.batches += step.batches;
    sum.kept += step.kept;
    limit = nextStep(limit, tookMs);
    after = step.next;
    // Yields to timers and sockets: an embedded store never does.
    if (after !== null) await runtime.sleep(0);
  }
}
