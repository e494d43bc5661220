// Checks after an upload whether the provider has processed the file, at providers with such a
// state: they refuse a create with an unprocessed file. A batch whose file is not ready stays
// sealed with its file, and is tried again within seconds.

import type { Lease } from "../../runtime/lease/lease.ts";
import { readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { applyPlan } from "../apply-plan.ts";
import { afterPendingFile, isOverdue } from "./pending-file.ts";

const NOT_READY = { code: "file_not_ready", message: "The provider has not processed the uploaded file yet." };

/**
 * True if the batch waits for its file; then the lease has ended. If the state of the file is
 * unknown, the create finds out.
 */
export async function waitsForFile(runtime: Runtime, lease: Lease, fileId: string | null): Promise<boolean> {
  const { account, batch } = lease;
  const { isFileReady } = account;
  if (isFileReady === undefined || fileId === null || batch.unknownSince !== null) return false;
  if (isOverdue(batch, runtime.clock.now())) return false;
  try {
    if (await readFor(runtime, lease, (call) => isFileReady.call(account, fileId, call))) return false;
  } catch (error) {
    if (lease.isOver) throw error;
    if (!runtime.isStopping) runtime.report(error, lease.context("files"));
    return false;
  }
  // It writes to no ledger.
  const plan = afterPendingFile(batch, NOT_READY, runtime.clock.now());
  await applyPlan(runtime, lease, plan, new Map(), { providerFileId: fileId });
  return true;
}
