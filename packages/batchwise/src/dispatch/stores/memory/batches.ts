// The batches with their leases, states and reservations. Guarantees the checks of `lease` and
// `transition`; knows their members only as a list.

import { BLANK_BATCH } from "../../contract/store/batch-fields.ts";
import type { LeaseInput, SealInput, TransitionResult } from "../../contract/store/calls.ts";
import type { Probe } from "../../contract/store/probe.ts";
import type { PruneInput } from "../../contract/store/pruning.ts";
import type { BatchChanges, BatchQuery } from "../../contract/store/rows.ts";
import type { BatchState, Orphan } from "../../contract/types.ts";
import type { Chosen } from "./choose.ts";
import { Ledgers } from "./ledgers.ts";
import { Payers } from "./payers.ts";
import { batchRow, type MemoryBatch } from "./records.ts";
import { known } from "./waiting.ts";

export class Batches {
  readonly ledgers: Ledgers = new Ledgers();
  readonly payers: Payers = new Payers();
  readonly #all = new Map<string, MemoryBatch>();
  /** Those that are not done: looking for one of them costs the same however many are. */
  readonly #live = new Set<MemoryBatch>();
  /** Batches whose members have all been deleted. */
  readonly #over = new Set<MemoryBatch>();
  #pruned = 0;

  get(key: string): MemoryBatch | undefined {
    return this.#all.get(key);
  }

  /** The batch, if `fence` is still the present one. */
  held(key: string, fence: number): MemoryBatch | undefined {
    const batch = this.#all.get(key);
    return batch?.fence === fence ? batch : undefined;
  }

  add(input: SealInput, { members, bytes, tokens, deadlineAt, price }: Chosen): MemoryBatch {
    const { key, lane, account, ledger, now, payers = [] } = input;
    const batch: MemoryBatch = {
      ...BLANK_BATCH,
      ...{ key, lane, account, ledger, state: "sealed", bytes, tokens, deadlineAt, verified: true, orphans: [] },
      ...{ requests: members.length, remaining: members.length, createdAt: now, updatedAt: now, nextAt: now },
      ...{ leaseOwner: input.owner, leaseUntil: input.leaseUntil, fence: 1 },
      members: [...members],
      payers,
      reserved: price,
      releaseAt: Infinity,
      gone: 0,
    };
    this.#all.set(key, batch);
    this.#live.add(batch);
    this.ledgers.book(batch);
    this.payers.reserve(batch);
    return batch;
  }

  lease({ owner, now, freeAt = now, leaseUntil, accounts, limit, keys }: LeaseInput): MemoryBatch[] {
    const due = [...this.#live].filter(({ state, nextAt }) => state !== "quarantined" && nextAt <= now);
    const asked = keys === undefined ? due : this.#known(keys);
    const free = asked.filter(({ leaseUntil: until, account }) => until <= freeAt && accounts.includes(account));
    const taken = free.sort((a, b) => a.nextAt - b.nextAt || (a.key < b.key ? -1 : 1)).slice(0, limit);
    for (const batch of taken) Object.assign(batch, { leaseOwner: owner, leaseUntil, fence: batch.fence + 1 });
    return taken;
  }

  transition(key: string, fence: number, changes: BatchChanges, now: number): TransitionResult {
    const batch = this.held(key, fence);
    const reason = batch === undefined ? "fence" : this.#refusal(batch, changes);
    if (batch === undefined || reason !== null) return { ok: false, reason: reason ?? "fence" };
    const { exclusive: _exclusive, releaseAt, ledgers = [], orphans = [], ...fields } = changes;
    const ends = fields.state === "done" && batch.state !== "done";
    if (releaseAt !== undefined) batch.releaseAt = releaseAt ?? Infinity;
    else if (ends) batch.releaseAt = Math.min(batch.releaseAt, now);
    Object.assign(batch, fields, { updatedAt: now, orphans: merged(batch.orphans, orphans) });
    if (batch.state === "done") this.#live.delete(batch);
    else this.#live.add(batch);
    const written = ledgers.map((change) => this.ledgers.write(change));
    return { ok: true, batch: batchRow(batch), written };
  }

  /** Counts a deleted member. */
  leave(key: string): void {
    const batch = this.#all.get(key);
    if (batch === undefined) return;
    batch.gone += 1;
    if (batch.gone === batch.requests) this.#over.add(batch);
  }

  /** Deletes ended batches whose members have all been deleted. Returns their number. */
  prune({ batchesBefore, limit, now }: PruneInput): number {
    const may = ({ state, updatedAt, releaseAt, leaseUntil }: MemoryBatch): boolean =>
      state === "done" && updatedAt <= batchesBefore && releaseAt <= now && leaseUntil <= now;
    const gone = [...this.#over].filter(may).slice(0, limit);
    for (const batch of gone) {
      this.#over.delete(batch);
      this.#all.delete(batch.key);
      this.ledgers.forget(batch);
    }
    this.#pruned += gone.length;
    return gone.length;
  }

  hasten(after: number, now: number): void {
    const sooner = (at: number): number => (at > after ? now : at);
    for (const batch of this.#live) {
      batch.nextAt = sooner(batch.nextAt);
      batch.leaseUntil = sooner(batch.leaseUntil);
      if (batch.submitStartedAt !== null) batch.submitStartedAt = sooner(batch.submitStartedAt);
      if (batch.unknownSince !== null) batch.unknownSince = sooner(batch.unknownSince);
    }
    this.ledgers.hasten(after, now);
  }

  find({ keys, states, account, providerBatchIds, limit }: BatchQuery): MemoryBatch[] {
    const onlyLive = states?.includes("done") === false;
    const asked = keys === undefined ? [...(onlyLive ? this.#live : this.#all.values())] : this.#known(keys);
    const found = asked.filter(
      (batch) =>
        (states?.includes(batch.state) ?? true) &&
        (account === undefined || batch.account === account) &&
        (providerBatchIds?.some((id) => isOf(batch, id)) ?? true),
    );
    return found.sort((a, b) => b.createdAt - a.createdAt || (a.key < b.key ? 1 : -1)).slice(0, limit);
  }

  figures(): Pick<Probe, "batches" | "inBatches" | "batchDueAt"> {
    const batches: Record<BatchState, number> = {
      ...{ sealed: 0, submitting: 0, unknown: 0, waiting_capacity: 0, submitted: 0 },
      ...{ running: 0, collecting: 0, quarantined: 0, done: this.#pruned + this.#all.size - this.#live.size },
    };
    let [inBatches, dueAt] = [0, Infinity];
    for (const { state, remaining, nextAt, leaseUntil } of this.#live) {
      batches[state] += 1;
      inBatches += remaining;
      if (state !== "quarantined") dueAt = Math.min(dueAt, Math.max(nextAt, leaseUntil));
    }
    return { batches, inBatches, batchDueAt: known(dueAt) };
  }

  #known(keys: readonly string[]): MemoryBatch[] {
    return [...new Set(keys)].map((key) => this.#all.get(key)).filter((batch) => batch !== undefined);
  }

  #refusal(batch: MemoryBatch, changes: BatchChanges): "busy" | "taken" | "open" | null {
    const others = (among: Iterable<MemoryBatch>): MemoryBatch[] =>
      [...among].filter((other) => other !== batch && other.account === batch.account);
    const unresolved = ({ state }: MemoryBatch): boolean => state === "submitting" || state === "unknown";
    if (changes.exclusive && others(this.#live).some(unresolved)) return "busy";
    const id = changes.providerBatchId ?? null;
    if (id !== null && others(this.#all.values()).some((other) => other.providerBatchId === id)) return "taken";
    return changes.state === "done" && batch.remaining > 0 ? "open" : null;
  }
}

function isOf(batch: MemoryBatch, id: string): boolean {
  return batch.providerBatchId === id || batch.orphans.some((orphan) => orphan.providerBatchId === id);
}

function merged(old: readonly Orphan[], fresh: readonly Orphan[]): readonly Orphan[] {
  const byId = new Map([...old, ...fresh].map((orphan) => [orphan.providerBatchId, orphan]));
  return [...byId.values()];
}
