// Sends the lines of a batch within a run's time. Measures the speed, so that later batches have a
// size that a run can send. A file that was too large even for a whole run is reported by name, and
// its requests return to their lane for smaller ones.

import type { BatchInput } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { takeApart } from "../apply-plan.ts";
import { mayRunUnderToken } from "./after-repeat.ts";
import { goesInline } from "./batch-file.ts";
import { fileName } from "./batch-input.ts";
import { nextSpeed, speedChange } from "./upload-speed.ts";

/**
 * True if the lines need more than the remaining time, by the speed of earlier ones; then the lease
 * has ended or the requests return to their lane. A file that no run can send is tried if it cannot
 * be smaller.
 */
export async function lacksTime(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { budget } = runtime;
  const { batch, account } = lease;
  const speed = runtime.uploadSpeed(account.name);
  if (budget === null || speed === null || batch.providerFileId !== null) return false;
  const needsMs = batch.bytes / speed;
  if (needsMs <= budget.leftMs) return false;
  if (needsMs <= budget.wholeMs && !budget.isWhole(budget.leftMs)) {
    // The next run has more time; this one must not return to it.
    await lease.end((now) => ({ nextAt: now + Math.ceil(budget.leftMs) }));
    return true;
  }
  tell(runtime, lease, `needs about ${seconds(needsMs)} s`);
  return inSmaller(runtime, lease);
}

/** One upload of lines, with its progress. */
export interface Sent {
  readonly input: BatchInput;
  /** Called when all lines are sent. */
  done(): Promise<void>;
  /** Called when the end of the run has cut it off, before `smaller`. */
  cutOff(): Promise<void>;
  /**
   * Returns true if the requests return to their lane. Reports a file that had a run to itself, or
   * that was tried before.
   */
  smaller(): Promise<boolean>;
}

export function measured(runtime: Runtime, lease: Lease, input: BatchInput): Sent {
  const { budget, clock } = runtime;
  const begunAt = clock.monotonic();
  let lines = 0;
  let hadMs = 0;
  const seen = async (isCut: boolean): Promise<void> => {
    const share = isCut ? Math.min(1, lines / Math.max(1, input.requests)) : 1;
    await note(runtime, lease, { bytes: input.bytes * share, ms: clock.monotonic() - begunAt, isCut });
  };
  const counted: BatchInput = {
    ...input,
    async *lines() {
      lines = 0;
      for await (const line of input.lines()) {
        lines += 1;
        yield line;
      }
    },
  };
  return {
    input: budget === null ? input : counted,
    done: async () => {
      if (budget !== null) await seen(false);
    },
    cutOff: async () => {
      hadMs = clock.monotonic() - begunAt;
      // With little time it says nothing of the size.
      if (budget?.isFair(hadMs) === true && !lease.isOver) await seen(true);
    },
    smaller: async () => {
      if (budget?.isFair(hadMs) !== true || lease.isOver) return false;
      if (budget.isWhole(hadMs) || lease.batch.submitAttempt > 1) tell(runtime, lease, "was not sent");
      return inSmaller(runtime, lease);
    },
  };
}

async function inSmaller(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { batch, account } = lease;
  const isLeast = batch.remaining <= Math.max(1, account.capabilities.limits.minRequests);
  if (isLeast || mayRunUnderToken(batch, account) || batch.bytes <= runtime.mostBytes(account.name)) return false;
  const changes = { unknownSince: null, releaseAt: runtime.clock.now() };
  await takeApart(lease, { kind: "requeue", code: "file_too_slow" }, changes);
  return true;
}

/** A lost measurement only makes the next estimate worse. */
async function note(runtime: Runtime, { account }: Lease, sending: Parameters<typeof nextSpeed>[1]): Promise<void> {
  const before = runtime.uploadSpeed(account.name);
  const speed = nextSpeed(before, sending);
  if (speed === null) return;
  await runtime.changeMarks([speedChange(account.name, before, speed)]).catch((error: unknown) => {
    runtime.reportShared(error, { operation: "store" });
  });
}

function tell(runtime: Runtime, lease: Lease, what: string): void {
  const { batch } = lease;
  const name = fileName(batch.key, Math.max(1, batch.submitAttempt));
  const file = goesInline(batch, lease.account) ? `The create of batch ${batch.key}` : `The file ${name}`;
  const size = `${batch.bytes} bytes of ${requestsOf(batch)}`;
  const words = `${file} (${size}) ${what} in the ${seconds(runtime.budget?.workMs ?? 0)} s of a run`;
  const advice = "Its requests go into smaller files, where there are several: a longer `maxMs` moves larger ones.";
  runtime.report(new DispatchError("RUN_TOO_SHORT", `${words}. ${advice}`), lease.context("upload"));
}

function requestsOf({ requests }: BatchRow): string {
  return requests === 1 ? "one request" : `${requests} requests`;
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
