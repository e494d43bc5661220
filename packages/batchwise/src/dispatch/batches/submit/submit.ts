// Sends a sealed batch, without the members whose deadline has passed: intent, upload, create,
// answer, each durable before the next begins. A create is sent at most once per intent, never by a
// client's own retry, and only while the lease outlasts the call. An uncertain outcome is written
// as `unknown` and left to reconcile.ts.

import { learnable } from "../../accounts/learned-limit.ts";
import { noteFaults } from "../../accounts/record-lane-health.ts";
import type { BatchInput, CreateInput, ProviderBatch } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import { isConnectionError, isMistake, isStoreError } from "../../format/client-error.ts";
import { batchName } from "../../format/encode.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { bounded, CallTimeout, failureOf } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { applyPlan } from "../apply-plan.ts";
import { NO_EVIDENCE } from "../batch-case.ts";
import { createTimeoutMs, nextLookAt, sendingTimeoutMs } from "../life-cycle.ts";
import { tiedTo } from "../plan.ts";
import { afterSubmitFailure } from "./after-failure.ts";
import { afterFailedRepeat, mayRunUnderToken } from "./after-repeat.ts";
import { goesInline } from "./batch-file.ts";
import { batchInput, firstBody, LineRefused } from "./batch-input.ts";
import { evidenceOn, othersAccepted, preferFreeAccount } from "./competing-batches.ts";
import { blameMembers, expireMembers } from "./expire-members.ts";
import { isPaused, passesGate } from "./gate.ts";
import { mayHaveUrgent, moveUrgent, withLook } from "./move-urgent.ts";
import { triedOnceMore } from "./retry-policy.ts";
import { submitTeller, type TellSubmit } from "./submit-events.ts";
import { tellOfFigure, tellOfRefusal } from "./tell-of-refusal.ts";
import { lacksTime, measured, type Sent } from "./time-to-send.ts";
import { waitsForFile } from "./wait-for-file.ts";

/** How long a batch waits when another create of its account is unresolved. */
const BUSY_MS = 5_000;

const LOST: Failure = { kind: "unknown", code: "lease_lost", message: "The lease was lost during the call." };

/** How long a batch waits while it is unknown whether the clock is right. */
const DOUBT_MS = 60_000;

/** Where the create finds the lines of the batch. */
interface Source {
  /** null: they travel in it. */
  readonly providerFileId: string | null;
}

export async function submit(runtime: Runtime, lease: Lease, attempt: number): Promise<void> {
  if (!(await mayBegin(runtime, lease))) return;
  if (!(await writeIntent(runtime, lease, attempt))) return;
  await runtime.options.failpoint("after-intent");
  if (isLate(runtime, lease)) {
    await sealAgain(lease);
    return;
  }
  const uploadedBy = runtime.clock.monotonic() + sendingTimeoutMs(lease.batch, lease.account);
  const source = await upload(runtime, lease);
  if (source === null) return;
  if (runtime.isStopping || (await isPaused(runtime, lease))) {
    await sealAgain(lease, source);
    return;
  }
  await runtime.options.failpoint("after-upload");
  if (await waitsForFile(runtime, lease, source.providerFileId)) return;
  const timeoutMs = createTimeoutMs(lease.batch, lease.account);
  if (!runtime.isStopping) await lease.writeBefore(timeoutMs, (now) => ({ ...source, submitStartedAt: now }));
  // A process that slept since its last write must not send: another process may own the batch now.
  const { budget } = runtime;
  const hasTime = budget === null || budget.mayCreate;
  const maySend = hasTime && !runtime.isStopping && !runtime.clock.isInDoubt() && lease.maySend(timeoutMs);
  // A process that slept before its last write may still own the batch, but it checked the
  // deadlines too long ago.
  const hasSlept = runtime.clock.monotonic() > uploadedBy;
  if (maySend && !(hasSlept && isLate(runtime, lease))) await create(runtime, lease, timeoutMs);
  // A run that has no time for it must not come back to it.
  else await sealAgain(lease, {}, hasTime ? 0 : budget.leftMs);
}

/** False where the batch is not sent now; its next state is written, or its requests leave it. */
async function mayBegin(runtime: Runtime, lease: Lease): Promise<boolean> {
  if (await waitsForClock(runtime, lease)) return false;
  if (await expireMembers(runtime, lease)) return false;
  if (mayHaveUrgent(runtime, lease) && (await moveUrgent(runtime, lease))) return false;
  return (await passesGate(runtime, lease)) && !(await lacksTime(runtime, lease));
}

/**
 * True while the wall clock is in doubt: an intent with a wrong time would be given up too soon, or
 * too late. The clock returns, or is believed, within minutes.
 */
async function waitsForClock(runtime: Runtime, lease: Lease): Promise<boolean> {
  if (!runtime.clock.isInDoubt()) return false;
  await lease.end((now) => ({ nextAt: now + DOUBT_MS }));
  return true;
}

/**
 * True when a deadline has passed since the members were looked at, and no earlier create may run.
 */
function isLate(runtime: Runtime, { batch: { deadlineAt, unknownSince } }: Lease): boolean {
  return unknownSince === null && deadlineAt !== null && deadlineAt <= runtime.clock.now();
}

/**
 * Nothing was sent under this intent: the next owner starts again, and members whose deadline has
 * passed by then expire. Only while an earlier create may run under its idempotency token is that
 * kept, and the batch stays `submitting`.
 */
async function sealAgain(lease: Lease, source: Partial<Source> = {}, afterMs = 0): Promise<void> {
  const state = lease.batch.unknownSince === null ? "sealed" : "submitting";
  await lease.end((now) => ({ ...source, state, nextAt: now + Math.ceil(afterMs) }));
}

async function writeIntent(runtime: Runtime, lease: Lease, attempt: number): Promise<boolean> {
  const exclusive = lease.account.capabilities.tag === "none";
  const { unknownSince, submitStartedAt } = lease.batch;
  const filesOnly = runtime.lastPauses.filesOnly.has(lease.account.name);
  const intent = await lease.write((now) => ({
    state: "submitting",
    submitAttempt: attempt,
    submitStartedAt: now,
    inline: lease.batch.inline ?? (!filesOnly && goesInline(lease.batch, lease.account)),
    // Kept while a create of this token may run: see batches/submit/after-repeat.ts.
    unknownSince: mayRunUnderToken(lease.batch, lease.account) ? (unknownSince ?? submitStartedAt ?? now) : null,
    exclusive,
    // A batch that waited for a higher limit had released its reservation.
    releaseAt: null,
  }));
  if (intent.ok) return true;
  await lease.end({ nextAt: runtime.clock.now() + BUSY_MS });
  return false;
}

/**
 * Uploads the lines, unless they travel in the create. null: it did not succeed, and the batch's
 * next state is written.
 */
async function upload(runtime: Runtime, lease: Lease): Promise<Source | null> {
  const { account, batch } = lease;
  const { providerFileId } = batch;
  const tell = submitTeller(runtime, lease, "upload");
  if (goesInline(batch, account) || providerFileId !== null) return { providerFileId };
  const lines = linesOf(runtime, lease);
  try {
    const send = requireUpload(account.upload?.bind(account));
    const cuts = [lease.signal, runtime.stopping.signal];
    const timeoutMs = runtime.timeFor(sendingTimeoutMs(batch, account));
    const sent = await bounded(runtime, timeoutMs, cuts, (call) => send(lines.input, call));
    runtime.troubles.worked(account.name, "upload");
    tell(null);
    await lines.done();
    return { providerFileId: sent.fileId };
  } catch (error) {
    if (runtime.isStopping) {
      await lines.cutOff();
      if (!(await lines.smaller())) await sealAgain(lease);
    }
    // Nothing runs from a file, so the step may just fail.
    else if (isStoreError(error) || (isMistake(error) && refusal(error) === null)) throw error;
    else await failed(runtime, lease, error, "upload", tell);
    return null;
  }
}

async function create(runtime: Runtime, lease: Lease, timeoutMs: number): Promise<void> {
  const { account, batch } = lease;
  const tell = submitTeller(runtime, lease, "create");
  const isSent = (): unknown => runtime.sentAt.set(account.name, runtime.clock.now());
  const lines = batch.providerFileId === null ? linesOf(runtime, lease, within(runtime, timeoutMs)) : null;
  let seen: ProviderBatch;
  try {
    seen = await bounded(runtime, timeoutMs, [lease.signal], (call) =>
      account.create(createInput(runtime, lease, lines?.input ?? null), call).finally(isSent),
    );
  } catch (error) {
    // A later look finds out whether it was taken; if not, its requests may go in smaller ones.
    if (runtime.isCut) await lines?.cutOff();
    await failed(runtime, lease, error, "create", tell);
    return;
  }
  // An account with `execute` runs the lines itself: its create makes no call.
  if (account.execute === undefined) runtime.troubles.worked(account.name, "create");
  tell(null);
  await runtime.options.failpoint("create-answered");
  const answered = await lease.end((now) => ({
    ...tiedTo(seen, true),
    // The provider may have accepted the first create under this token, which left at most a
    // timeout before.
    ...(batch.unknownSince === null
      ? {}
      : { submitStartedAt: Math.max(batch.createdAt, batch.unknownSince - timeoutMs) }),
    nextAt: now + account.pollMs,
  }));
  await lines?.done();
  if (answered.ok) return;
  // Another batch adopted this id without proof. Its results will show whose it is.
  const nextAt = nextLookAt({ ...batch, unknownSince: runtime.clock.now() }, account, runtime.clock.now());
  await lease.end((now) => ({ state: "unknown", unknownSince: now, nextAt }));
}

function createInput(runtime: Runtime, { batch }: Lease, lines: BatchInput | null): CreateInput {
  const input = lines ?? { fileId: batch.providerFileId as string };
  return { ...batchName(batch), input, firstBody: () => firstBody(runtime.store, batch) };
}

function linesOf(runtime: Runtime, lease: Lease, check?: () => void): Sent {
  return measured(runtime, lease, batchInput(runtime.store, lease.account, lease.batch, check));
}

/**
 * Returns a function that throws once `timeoutMs` has passed. A create that carries its lines takes
 * effect with the last line: a process that slept while it sent them must not finish it, because
 * another process may have given it up and sent the batch again.
 */
function within(runtime: Runtime, timeoutMs: number): () => void {
  const until = runtime.clock.monotonic() + timeoutMs;
  return () => {
    if (runtime.clock.monotonic() > until) throw new CallTimeout(`The lines were not sent within ${timeoutMs} ms.`);
  };
}

async function failed(
  runtime: Runtime,
  lease: Lease,
  error: unknown,
  operation: "upload" | "create",
  tell: TellSubmit,
): Promise<void> {
  if (lease.isOver) {
    tell(LOST);
    throw error;
  }
  const { account, batch } = lease;
  const known = refusal(error) ?? failureOf(account, error, operation);
  if (!runtime.isCut) runtime.troubles.add({ error, failure: known, context: lease.context(operation) });
  tellOfFigure(runtime, lease, known, operation);
  const failure = learnable(await blameMembers(runtime, lease, known), account);
  tell(failure);
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(batch.ledger) ?? null;
  const passed = await othersAccepted(runtime, batch, triedOnceMore(batch, runtime.clock.now()));
  // Written with the intent: a create before this one may run under the same token.
  const isRepeat = batch.unknownSince !== null && account.capabilities.tag === "idempotencyToken";
  const decide = isRepeat ? afterFailedRepeat : afterSubmitFailure;
  const evidence = failure.kind === "unknown" ? NO_EVIDENCE : await evidenceOn(runtime, batch, failure, ledgers);
  const at = { batch, account, ledger, othersAccepted: passed, evidence, now: runtime.clock.now() };
  const plan = decide(at, failure, operation);
  // A line that the account could not write was never sent.
  const isBlamed = plan.disposal?.kind === "faults" && !(error instanceof LineRefused);
  if (isBlamed) await noteFaults(runtime, batch, failure, operation);
  const isUnreached = known.kind === "definitelyNotCreated" && isConnectionError(error);
  // What gets the requests further where the plan only lets them wait.
  const applied = isRepeat
    ? plan
    : await withLook(runtime, lease, preferFreeAccount(runtime, batch, plan, ledgers, isUnreached));
  const isWritten = await applyPlan(runtime, lease, applied, ledgers);
  tellOfRefusal(runtime, batch, plan, isWritten, operation);
}

/** A line that could not be encoded was never sent, so only its member fails. */
function refusal(error: unknown): Failure | null {
  if (!(error instanceof LineRefused)) return null;
  const { message } = error;
  const code = "invalid_request";
  return { kind: "invalidRequest", code, message, lines: [{ line: error.ord + 1, code, message }] };
}

function requireUpload<T>(upload: T | undefined): T {
  if (upload === undefined) throw new Error("An account that does not take every batch inline must have `upload`.");
  return upload;
}
