// Sends a sealed batch: intent, upload, create, answer, each durable before the next begins. A create leaves this
// process at most once per intent, never through a client's own retry, and only while the lease outlasts the call. An
// outcome that is not certain is written as unknown and left to reconcile.ts.

import { batchInput, LineRefused } from "./batch-input.ts";
import { parseLane } from "./encode.ts";
import { follow } from "./follow.ts";
import { nextLookAt } from "./life-cycle.ts";
import { afterSubmitFailure } from "./plans.ts";
import type { CreateInput, Failure, ProviderBatch } from "./provider.ts";
import { bounded, callFor, failureOf } from "./provider-call.ts";
import type { Room } from "./room.ts";
import type { Tenure } from "./tenure.ts";

/** How long a batch waits when another create of its account is unresolved. */
const BUSY_MS = 5_000;
/** Bytes a millisecond below which an upload is given up. */
const SLOWEST_UPLOAD = 1_000;

export async function submit(room: Room, tenure: Tenure, attempt: number): Promise<void> {
  const { account } = tenure;
  const pausedUntil = (await room.ledgers()).get(account.name)?.blockedUntil ?? 0;
  if (pausedUntil > room.clock.now()) {
    await tenure.end({ nextAt: pausedUntil });
    return;
  }
  if (!(await writeIntent(room, tenure, attempt))) return;
  await room.options.failpoint("after-intent");
  const providerFileId = await uploaded(room, tenure);
  if (tenure.isOver) return;
  await room.options.failpoint("after-upload");
  if (!room.isStopping) await tenure.write((now) => ({ providerFileId, submitStartedAt: now }));
  // A process that slept since its last write must not send: its batch may be somebody else's by now.
  if (room.isStopping || !tenure.maySend(account.requestTimeoutMs)) {
    // An attempt that may be a repetition keeps its token.
    const state = account.capabilities.tag === "idempotencyToken" ? "submitting" : "sealed";
    await tenure.end((now) => ({ state, nextAt: now }));
    return;
  }
  await create(room, tenure);
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

/** The id of the batch's file, null where lines travel in the create. An upload that fails ends the tenure. */
async function uploaded(room: Room, tenure: Tenure): Promise<string | null> {
  const { account, batch } = tenure;
  if (account.capabilities.input === "inline" || batch.providerFileId !== null) return batch.providerFileId;
  try {
    const input = batchInput(room.store, account, batch);
    const timeoutMs = account.requestTimeoutMs + batch.bytes / SLOWEST_UPLOAD;
    const upload = requireUpload(account.upload?.bind(account));
    return (await bounded(room, timeoutMs, [tenure.signal, room.stopping.signal], (call) => upload(input, call)))
      .fileId;
  } catch (error) {
    if (!room.isStopping) await failed(room, tenure, error, "upload");
    return null;
  }
}

async function create(room: Room, tenure: Tenure): Promise<void> {
  const { account, batch } = tenure;
  let seen: ProviderBatch;
  try {
    seen = await callFor(room, tenure, (call) => account.create(createInput(room, tenure), call));
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
  const ledger = await room.ledger(batch.ledger);
  await follow(tenure, afterSubmitFailure(batch, failure, operation, account, ledger, room.clock.now()));
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
