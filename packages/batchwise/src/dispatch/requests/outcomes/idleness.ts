// Checks whether any work is left, in the whole store or in one job. Only reads the store.

import { QuarantinedError } from "../../contract/errors.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { openIn } from "../../format/open-requests.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { openMembers } from "../../runtime/store/pages.ts";

/** Repeated checks for one reader. */
export class Idleness {
  readonly #runtime: Runtime;
  readonly #job: string | null;
  /** Members of the job per quarantined batch. A count holds until requests leave the batch. */
  #counted: ReadonlyMap<string, Counted> = new Map();

  constructor(runtime: Runtime, job: string | null) {
    this.#runtime = runtime;
    this.#job = job;
  }

  /**
   * "done" if no request waits or is in a batch; an error if quarantined batches hold all that is
   * left; else null.
   */
  look(): Promise<"done" | QuarantinedError | null> {
    return this.#job === null ? ofStore(this.#runtime) : this.#ofJob(this.#job);
  }

  async #ofJob(job: string): Promise<"done" | QuarantinedError | null> {
    const open = await openOf(this.#runtime, job);
    if (open === 0) return "done";
    const quarantined = await quarantinedBatches(this.#runtime);
    if (remainingOf(quarantined) < open) return null;
    const counted = new Map<string, Counted>();
    for (const { key, fence, remaining } of quarantined) {
      const known = this.#counted.get(key);
      const isSame = known?.fence === fence && known.remaining === remaining;
      const members = isSame ? known.members : await membersOf(this.#runtime, job, key);
      counted.set(key, { fence, remaining, members });
    }
    this.#counted = counted;
    const its = quarantined.filter(({ key }) => counted.get(key)?.members !== 0);
    const count = [...counted.values()].reduce((sum, { members }) => sum + members, 0);
    return count === open ? quarantinedError(its, open) : null;
  }
}

interface Counted extends Pick<BatchRow, "fence" | "remaining"> {
  /** Requests of the job in the batch. */
  readonly members: number;
}

async function ofStore(runtime: Runtime): Promise<"done" | QuarantinedError | null> {
  const { lanes, inBatches } = await runtime.store.probe(1, runtime.clock.now());
  if (lanes.length > 0) return null;
  if (inBatches === 0) return "done";
  const quarantined = await quarantinedBatches(runtime);
  return inBatches === remainingOf(quarantined) ? quarantinedError(quarantined, inBatches) : null;
}

/** Requests of the job that have not ended. */
async function openOf({ store }: Runtime, job: string): Promise<number> {
  return (await store.usage({ job })).reduce((open, row) => open + openIn(row), 0);
}

/** Counts by pages in batch order, for which every store has an index. */
async function membersOf({ store }: Runtime, job: string, batchKey: string): Promise<number> {
  let count = 0;
  for await (const page of openMembers(store, batchKey)) count += page.filter((row) => row.job === job).length;
  return count;
}

/** Quarantined batches that still hold requests. */
async function quarantinedBatches({ store, clock }: Runtime): Promise<BatchRow[]> {
  const { batches } = await store.probe(1, clock.now());
  if (batches.quarantined === 0) return [];
  const found = await store.batches({ states: ["quarantined"], limit: batches.quarantined });
  return found.filter(({ remaining }) => remaining > 0);
}

function remainingOf(batches: readonly BatchRow[]): number {
  return batches.reduce((sum, { remaining }) => sum + remaining, 0);
}

function quarantinedError(batches: readonly BatchRow[], count: number): QuarantinedError {
  return new QuarantinedError(
    batches.map(({ key }) => key),
    count,
  );
}
