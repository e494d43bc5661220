// Whether anything is left to wait for: in the whole store, or of one job. Reads the store, writes nothing.

import { QuarantinedError } from "../contract/errors.ts";
import type { BatchRow } from "../contract/rows.ts";
import type { Runtime } from "../runtime/runtime.ts";

const PAGE = 1_000;

/** "done" when no request waits or is in a batch; an error when only quarantined batches have some; else null. */
export function idleness(runtime: Runtime, job: string | null): Promise<"done" | QuarantinedError | null> {
  return job === null ? ofStore(runtime) : ofJob(runtime, job);
}

async function ofStore(runtime: Runtime): Promise<"done" | QuarantinedError | null> {
  const { lanes, inBatches } = await runtime.store.probe(1, runtime.clock.now());
  if (lanes.length > 0) return null;
  if (inBatches === 0) return "done";
  const aside = await putAside(runtime);
  return inBatches === remainingOf(aside) ? quarantined(aside, inBatches) : null;
}

async function ofJob(runtime: Runtime, job: string): Promise<"done" | QuarantinedError | null> {
  const open = await openOf(runtime, job);
  if (open === 0) return "done";
  const aside = await putAside(runtime);
  if (remainingOf(aside) < open) return null;
  const its: BatchRow[] = [];
  let count = 0;
  for (const batch of aside) {
    const members = await membersOf(runtime, job, batch.key);
    if (members > 0) its.push(batch);
    count += members;
  }
  return count === open ? quarantined(its, open) : null;
}

/** Requests of the job that have not ended. */
async function openOf({ store }: Runtime, job: string): Promise<number> {
  let open = 0;
  for (const { requests, ended } of await store.usage({ job })) {
    open += requests - ended.succeeded - ended.failed - ended.cancelled - ended.expired;
  }
  return open;
}

async function membersOf({ store }: Runtime, job: string, batchKey: string): Promise<number> {
  let count = 0;
  for (let after: number | null = 0; after !== null; ) {
    const match = { states: ["claimed"], job, batchKey } as const;
    const { rows, next }: { rows: readonly unknown[]; next: number | null } = await store.find({
      ...{ match, after, limit: PAGE },
    });
    count += rows.length;
    after = next;
  }
  return count;
}

/** Quarantined batches that have requests. */
async function putAside({ store, clock }: Runtime): Promise<BatchRow[]> {
  const { batches } = await store.probe(1, clock.now());
  if (batches.quarantined === 0) return [];
  const found = await store.batches({ states: ["quarantined"], limit: batches.quarantined });
  return found.filter(({ remaining }) => remaining > 0);
}

function remainingOf(batches: readonly BatchRow[]): number {
  return batches.reduce((sum, { remaining }) => sum + remaining, 0);
}

function quarantined(batches: readonly BatchRow[], count: number): QuarantinedError {
  return new QuarantinedError(
    batches.map(({ key }) => key),
    count,
  );
}
