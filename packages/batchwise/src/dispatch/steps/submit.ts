// Sends a sealed batch: intent, upload, create, answer, each durable before the next begins. A create leaves this
// process at most once per intent, never through a client's own retry, and only while the lease outlasts the call. An
// outcome that is not certain is written as unknown and left to reconcile.ts.

import type { CreateInput, Failure, ProviderBatch } from "../contract/account.ts";
import { afterSubmitFailure } from "../decide/after-failure.ts";
import { createTimeoutMs, nextLookAt, sendingTimeoutMs } from "../decide/life-cycle.ts";
import { oneMore } from "../decide/retry-policy.ts";
import { parseLane } from "../format/encode.ts";
import type { Disposal } from "../format/payload.ts";
import type { Tenure } from "../runtime/lease.ts";
import { bounded, failureOf } from "../runtime/provider-calls.ts";
import type { Room } from "../runtime/runtime.ts";
import { follow } from "./apply-plan.ts";
import { batchInput, LineRefused } from "./batch-input.ts";
import { mayLeave, orElsewhere, othersPass } from "./competing-batches.ts";

/** How long a batch waits when another create of its account is unresolved. */
const BUSY_MS = 5_000;

/** Where the lines of a batch are that is to be created now. */
interface Source {
  /** null: they travel in the create. */
  readonly providerFileId: string | null;
}

export async function submit(room: Room, tenure: Tenure, attempt: number): Promise<void> {
  if (await waitsForAccount(room, tenure)) return;
  if (!(await writeIntent(room, tenure, attempt))) return;
  await room.options.failpoint("after-intent");
  const source = await upload(room, tenure);
  if (source === null) return;
  if (room.isStopping) {
    await sealAgain(tenure);
    return;
  }
  await room.options.failpoint("after-upload");
  const timeoutMs = createTimeoutMs(tenure.batch, tenure.account);
  if (!room.isStopping) await tenure.writeBefore(timeoutMs, (now) => ({ ...source, submitStartedAt: now }));
  // A process that slept since its last write must not send: its batch may be somebody else's by now.
  if (!room.isStopping && tenure.maySend(timeoutMs)) await create(room, tenure, timeoutMs);
  else await sealAgain(tenure);
}

/** True where the account is paused, and what becomes of the batch meanwhile is written. */
async function waitsForAccount(room: Room, tenure: Tenure): Promise<boolean> {
  const { account, batch } = tenure;
  const ledgers = await room.ledgers();
  const pausedUntil = ledgers.get(account.name)?.blockedUntil ?? 0;
  if (pausedUntil <= room.clock.now()) return false;
  const isUnsent = batch.state === "sealed" || batch.state === "waiting_capacity";
  if (isUnsent && mayLeave(room, batch, ledgers)) {
    const disposal: Disposal = { kind: "requeue", code: ledgers.get(account.name)?.note ?? "account_paused" };
    await tenure.write({ state: "collecting", disposal: JSON.stringify(disposal) });
  } else {
    await tenure.end({ nextAt: pausedUntil });
  }
  return true;
}

/** Nothing was sent: the next owner begins anew. An attempt that may be a repetition keeps its token. */
async function sealAgain(tenure: Tenure): Promise<void> {
  const state = tenure.account.capabilities.tag === "idempotencyToken" ? "submitting" : "sealed";
  await tenure.end((now) => ({ state, nextAt: now }));
}

async function writeIntent(room: Room, tenure: Tenure, attempt: number): Promise<boolean> {
  const exclusive = tenure.account.capabilities.tag === "none";
  const intent = await tenure.write((now) => ({
    state: "submitting",
    submitAttempt: attempt,
    submitStartedAt: now,
    unknownSince: null,
    exclusive,
  }));
  if (intent.ok) return true;
  await tenure.end({ nextAt: room.clock.now() + BUSY_MS });
  return false;
}

/** Brings the lines where the create finds them. null: it did not succeed, and what becomes of the batch is written. */
async function upload(room: Room, tenure: Tenure): Promise<Source | null> {
  const { account, batch } = tenure;
  const { providerFileId } = batch;
  if (account.capabilities.input === "inline" || providerFileId !== null) return { providerFileId };
  try {
    const input = batchInput(room.store, account, batch);
    const send = requireUpload(account.upload?.bind(account));
    const cuts = [tenure.signal, room.stopping.signal];
    const sent = await bounded(room, sendingTimeoutMs(batch, account), cuts, (call) => send(input, call));
    return { providerFileId: sent.fileId };
  } catch (error) {
    if (room.isStopping) await sealAgain(tenure);
    else await failed(room, tenure, error, "upload");
    return null;
  }
}

async function create(room: Room, tenure: Tenure, timeoutMs: number): Promise<void> {
  const { account, batch } = tenure;
  let seen: ProviderBatch;
  try {
    seen = await bounded(room, timeoutMs, [tenure.signal], (call) => account.create(createInput(room, tenure), call));
  } catch (error) {
    await failed(room, tenure, error, "create");
    return;
  }
  await room.options.failpoint("create-answered");
  const answered = await tenure.end((now) => ({
    state: "submitted",
    providerBatchId: seen.id,
    verified: true,
    providerState: seen.rawState,
    expiresAt: seen.expiresAt,
    lastError: null,
    pollMs: 0,
    nextAt: now + account.pollMs,
  }));
  if (answered.ok) return;
  // Another batch took this id for its own by a guess. Its results will say whose it is.
  const nextAt = nextLookAt({ ...batch, unknownSince: room.clock.now() }, account, room.clock.now());
  await tenure.end((now) => ({ state: "unknown", unknownSince: now, nextAt }));
}

function createInput(room: Room, { account, batch }: Tenure): CreateInput {
  const { endpoint, model } = parseLane(batch.lane);
  const input =
    batch.providerFileId === null ? batchInput(room.store, account, batch) : { fileId: batch.providerFileId };
  return { key: batch.key, attempt: batch.submitAttempt, endpoint, model, input };
}

async function failed(room: Room, tenure: Tenure, error: unknown, operation: "upload" | "create"): Promise<void> {
  if (tenure.isOver) throw error;
  room.report(error);
  const { account, batch } = tenure;
  const failure = refusal(error) ?? failureOf(account, error, operation);
  const ledgers = await room.ledgers();
  const ledger = ledgers.get(batch.ledger) ?? null;
  const passed = await othersPass(room, batch, oneMore(batch, room.clock.now()));
  const plan = afterSubmitFailure(batch, failure, operation, account, ledger, passed, room.clock.now());
  await follow(tenure, orElsewhere(room, batch, plan, ledgers));
}

/** A line that could not be encoded was never sent. */
function refusal(error: unknown): Failure | null {
  if (!(error instanceof LineRefused)) return null;
  const { message } = error;
  const code = "invalid_request";
  return { kind: "invalidRequest", code, message, lines: [{ line: error.ord + 1, code, message }] };
}

function requireUpload<T>(upload: T | undefined): T {
  if (upload === undefined) throw new Error("An account whose input is a file must have `upload`.");
  return upload;
}
