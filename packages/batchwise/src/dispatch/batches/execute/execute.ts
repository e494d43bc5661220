// Runs a batch of an account that runs lines itself (`Account.execute`): decides whether a pass
// begins, and what follows when it has ended or was cut off. The process that leases the batch
// next, after a kill, a stop or a lost lease, runs only open lines. So only the store's state says
// which lines have run, and no process can leave a batch "running".

import { healthOf, isKeptBack } from "../../accounts/lane-health.ts";
import { maySendAt } from "../../accounts/outage.ts";
import { closedByAnswer, pausedFor } from "../../accounts/pause-changes.ts";
import { placeOf } from "../../accounts/record-lane-health.ts";
import { tellOfPause } from "../../accounts/tell-of-pause.ts";
import type { LedgerChanges, LedgerRow } from "../../contract/store/ledger-rows.ts";
import { isMistake, isStoreError } from "../../format/client-error.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { failureOf } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { takeApart } from "../apply-plan.ts";
import { leftToOthers } from "../collect/checked-answers.ts";
import { isUrgentAtFallback, mayChangeAccount } from "../submit/competing-batches.ts";
import { isPaused } from "../submit/gate.ts";
import { afterBreak } from "./after-break.ts";
import { Execution } from "./execution.ts";

const HELD_MS = 60_000;
const BUSY_MS = 5_000;
/**
 * Passes in a row that broke off without a result, or the pause after one, after which urgent
 * requests go elsewhere.
 */
const LEFT_AFTER = 2;
const LEFT_FOR_MS = 60_000;

/** `onWaiting`: the pass waits for a store that refuses its results, or goes on. */
export async function execute(runtime: Runtime, lease: Lease, onWaiting: (waits: boolean) => void): Promise<void> {
  if (await leftToOthers(runtime, lease)) return;
  if (await waits(runtime, lease)) return;
  if (lease.batch.state === "submitted") await lease.write({ state: "running" });
  const run = new Execution(runtime, lease, onWaiting);
  let error: unknown = null;
  try {
    await run.all();
  } catch (reason) {
    error = reason;
  }
  if (lease.isOver) throw error;
  if (run.settled > 0) runtime.troubles.worked(lease.account.name, "execute");
  if (error !== null && !runtime.isStopping) await brokenOff(runtime, lease, error, run.settled);
  else if (lease.batch.remaining === 0) {
    await run.failures.noteEnd();
    await lease.write((now) => ({ state: "collecting", releaseAt: now, lastError: null, breaks: 0 }));
  } else if (run.failures.isBadHour) await sendBack(runtime, lease, "lane_paused");
  else await lease.end((now) => ({ nextAt: now + (run.isHeld ? HELD_MS : pause(runtime)) }));
}

/** Its open members go back to their lane, uncharged. */
function sendBack(runtime: Runtime, lease: Lease, code: string): Promise<void> {
  return takeApart(lease, { kind: "requeue", code }, { releaseAt: runtime.clock.now(), breaks: 0 });
}

/** True for urgent requests that another account takes now. */
function maySendElsewhere(runtime: Runtime, { batch }: Lease, ledgers: ReadonlyMap<string, LedgerRow>): boolean {
  return isUrgentAtFallback(runtime, batch) && mayChangeAccount(runtime, batch, ledgers);
}

/** A stopped dispatcher leaves the batch to others at once. */
function pause(runtime: Runtime): number {
  return runtime.isStopping ? 0 : BUSY_MS;
}

/**
 * True while the account or the lane is paused. A lane that has no capacity gets its requests back.
 */
async function waits(runtime: Runtime, lease: Lease): Promise<boolean> {
  const ledgers = await runtime.ledgers();
  const until = maySendAt(lease.batch, ledgers.get(lease.account.name), runtime.clock.now());
  const waitsUntil = until > runtime.clock.now() ? until : null;
  if (waitsUntil === null && !(await isPaused(runtime, lease))) {
    const health = healthOf(runtime.lastPauses.healths, placeOf(lease.batch));
    if (!isKeptBack(health, lease.batch.key, runtime.clock.now())) return false;
    await sendBack(runtime, lease, "lane_paused");
  } else if (maySendElsewhere(runtime, lease, ledgers)) await sendBack(runtime, lease, "account_paused");
  else await lease.end((now) => ({ nextAt: waitsUntil ?? now + HELD_MS }));
  return true;
}

/** Writes why a pass ended before its end, and when the next begins. */
async function brokenOff(runtime: Runtime, lease: Lease, error: unknown, settled: number): Promise<void> {
  const { account, batch } = lease;
  if (isStoreError(error) || (isMistake(error) && settled === 0)) throw error;
  const failure = failureOf(account, error, "execute");
  runtime.troubles.add({ error, failure, context: lease.context("execute") });
  const breaks = settled > 0 ? 0 : batch.breaks;
  const { waitMs, pausesAccount } = afterBreak(failure, breaks);
  const { code, message } = failure;
  // What has a deadline does not wait for long where another account can take it; see `waits`.
  const isLong = breaks >= LEFT_AFTER || waitMs >= LEFT_FOR_MS;
  const ledgers = await runtime.ledgers();
  const isLeft = isLong && maySendElsewhere(runtime, lease, ledgers);
  const lastError = JSON.stringify({ code, message });
  const isClosed = failure.kind === "authOrBilling";
  const now = runtime.clock.now();
  const until = now + waitMs;
  let paused: LedgerChanges[] = [];
  if (isClosed) paused = [closedByAnswer(account.name, until, code)];
  else if (pausesAccount || isLeft) paused = pausedFor(ledgers, account.name, until, code);
  await lease.end({ nextAt: isLeft ? now : until, lastError, breaks: breaks + 1, ledgers: paused });
  if (isClosed) tellOfPause(runtime, failure, until, "execute", lease.context("execute"));
}
