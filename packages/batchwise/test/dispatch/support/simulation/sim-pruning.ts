// Records of pruned outcomes in one run of the simulation: every deleted outcome, and whether it
// might be deleted. The watched store does a call's work when it is called, so nothing comes in
// between.

import type { OutcomeRow } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import type { PruneInput, PruneStep } from "../../../../src/dispatch/contract/store/pruning.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";

const ALL = 100_000;

export class PruningBooks {
  readonly outcomes: OutcomeRow[] = [];
  /** Rows that were deleted although they had to stay, or are unknown. */
  readonly faults: string[] = [];
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async prune(input: PruneInput): Promise<PruneStep> {
    const [outcomesBefore, batchesBefore, bookedBefore] = this.#read(input.now);
    const call = this.#store.prune(input);
    const [outcomesAfter, batchesAfter, bookedAfter] = this.#read(input.now);
    const left = new Set((await outcomesAfter).map(({ cursor }) => cursor));
    const gone = (await outcomesBefore).filter(({ cursor }) => !left.has(cursor));
    for (const outcome of gone) if (!mayGo(outcome, input)) this.faults.push(`outcome ${outcome.id}`);
    this.outcomes.push(...gone);
    const keys = new Set((await batchesAfter).map(({ key }) => key));
    const over = (await batchesBefore).filter(({ key }) => !keys.has(key));
    for (const batch of over) if (!isOver(batch, input)) this.faults.push(`batch ${batch.key}`);
    const step = await call;
    if (step.requests !== gone.length || step.batches !== over.length) this.faults.push("count");
    const kept = lookedAt(await outcomesBefore, input, step).filter((outcome) => isKept(outcome, input));
    if (step.kept !== kept.length) this.faults.push(`kept ${step.kept} in place of ${kept.length}`);
    if ((await bookedBefore) !== (await bookedAfter)) this.faults.push("a batch that is not released");
    return step;
  }

  #read(now: number): [Promise<readonly OutcomeRow[]>, Promise<readonly BatchRow[]>, Promise<string>] {
    const outcomes = this.#store.outcomes({ after: 0, limit: ALL, deliveries: true });
    return [outcomes, this.#store.batches({ limit: ALL }), this.#booked(now)];
  }

  /** Reservations of unreleased batches on the ledgers, which a prune does not change. */
  async #booked(now: number): Promise<string> {
    const { ledgers } = await this.#store.probe(1, now);
    return JSON.stringify(ledgers.map(({ name, tokens, requests, batches }) => [name, tokens, requests, batches]));
  }

  /** Adds faults at the end: a forgotten id, or a batch that some row still names. */
  async finish(): Promise<readonly string[]> {
    const ids = this.outcomes.map(({ id }) => id);
    if ((await this.#store.requests({ ids })).length > 0) this.faults.push("a pruned request is back");
    const known = await this.#store.requests({ ids, tombstones: true });
    if (known.length !== ids.length) this.faults.push("a pruned id is forgotten");
    const keys = new Set((await this.#store.batches({ limit: ALL })).map(({ key }) => key));
    for (const { id, batchKey } of await this.#store.outcomes({ after: 0, limit: ALL })) {
      if (batchKey !== null && !keys.has(batchKey)) this.faults.push(`the batch of ${id}`);
    }
    return this.faults;
  }
}

/** The outcomes that the step read: up to its `next`, or to the end of its look. */
function lookedAt(
  all: readonly OutcomeRow[],
  { after, limit }: PruneInput,
  { next }: PruneStep,
): readonly OutcomeRow[] {
  return all.filter(({ cursor }) => cursor > after && (next === null || cursor <= next)).slice(0, limit);
}

function isWaiting({ deliveries }: OutcomeRow): boolean {
  return deliveries?.some(({ state }) => state === "waiting") ?? true;
}

function isOld({ recordedAt, status }: OutcomeRow, { before, statuses }: PruneInput): boolean {
  return recordedAt <= before && statuses.includes(status);
}

function mayGo(outcome: OutcomeRow, input: PruneInput): boolean {
  return isOld(outcome, input) && !isWaiting(outcome);
}

function isKept(outcome: OutcomeRow, input: PruneInput): boolean {
  return isOld(outcome, input) && isWaiting(outcome);
}

function isOver({ state, remaining, updatedAt, leaseUntil }: BatchRow, { batchesBefore, now }: PruneInput): boolean {
  return state === "done" && remaining === 0 && updatedAt <= batchesBefore && leaseUntil <= now;
}
