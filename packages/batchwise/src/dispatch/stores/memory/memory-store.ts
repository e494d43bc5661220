// A store in memory: for tests, simulations and work that may be lost with the process. Guarantees
// the store contract except durability. Every method does its whole work in one turn, so that calls
// never overlap.

import { bindMethods } from "../../../core/contract/bind-methods.ts";
import { DispatchError } from "../../contract/errors.ts";
import type {
  Amended,
  Amendment,
  DeliveriesInput,
  EnqueueResult,
  LeaseInput,
  SealInput,
  SealResult,
  SettleInput,
  SettleResult,
  TransitionResult,
} from "../../contract/store/calls.ts";
import { hasDigest } from "../../contract/store/digests.ts";
import { matches } from "../../contract/store/finding.ts";
import type { MarkChange, MarkRow } from "../../contract/store/ledger-rows.ts";
import type { DeliveryRow, OutcomeQuery, OutcomeRow } from "../../contract/store/outcome-rows.ts";
import type { PayerChange, PayerRow } from "../../contract/store/payers.ts";
import type { Probe } from "../../contract/store/probe.ts";
import type { PruneInput, PruneStep } from "../../contract/store/pruning.ts";
import type {
  BatchChanges,
  BatchQuery,
  BatchRow,
  FindQuery,
  FindResult,
  NewRequest,
  RequestQuery,
  RequestRow,
  UsageQuery,
  UsageRow,
} from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import { Amendments } from "./amendments.ts";
import { Batches } from "./batches.ts";
import { choose } from "./choose.ts";
import { Marks } from "./marks.ts";
import { OutcomeLog } from "./outcome-log.ts";
import { Pruning } from "./pruning.ts";
import { batchRow, type MemoryBatch, type MemoryRequest, outcomeRow, requestRow } from "./records.ts";
import { Waiting } from "./waiting.ts";

/**
 * Makes a `Store` in this process's memory. Several dispatchers of the process may share it.
 *
 * @example
 * ```ts
 * import { memoryStore } from "batchwise/dispatch";
 * const store = memoryStore();
 * const { cursor } = await store.probe(100, Date.now()); // 0: nothing has ended yet
 * await store.close();
 * ```
 */
export function memoryStore(): Store {
  return new MemoryStore();
}

class MemoryStore implements Store {
  readonly #requests = new Map<string, MemoryRequest>();
  readonly #waiting = new Waiting();
  readonly #batches = new Batches();
  readonly #log = new OutcomeLog();
  readonly #marks = new Marks();
  readonly #changes = new Amendments(this.#requests, this.#waiting, this.#batches, this.#log);
  readonly #pruning = new Pruning(this.#requests, this.#log, this.#batches);
  #arrivals = 0;
  #closed = false;

  constructor() {
    bindMethods(this);
  }

  async enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> {
    this.#assertOpen();
    return requests.map((request) => this.#add(request, now));
  }

  async amend(change: Amendment, sinks: readonly string[], now: number): Promise<readonly Amended[]> {
    this.#assertOpen();
    return this.#changes.amend(change, sinks, now);
  }

  async probe(limit: number, now: number): Promise<Probe> {
    this.#assertOpen();
    return {
      lanes: this.#waiting.rows(limit, now),
      ledgers: this.#batches.ledgers.rows(now),
      ...this.#batches.figures(),
      outcomes: { ...this.#log.counts },
      cursor: this.#log.cursor,
      deliveriesWaiting: this.#log.deliveriesWaiting,
      deliveryDueAt: this.#log.deliveryDueAt,
    };
  }

  async seal(input: SealInput): Promise<SealResult> {
    this.#assertOpen();
    const known = this.#batches.get(input.key);
    if (known !== undefined) return { ok: true, batch: batchRow(known) };
    const { ledgers, payers } = this.#batches;
    const left = ledgers.left(input.ledger, input.limits, input.now);
    const chosen = choose(this.#waiting.inOrder(input.lane), left, payers.left(input.payers), input);
    if ("ok" in chosen) return chosen;
    chosen.members.forEach((request, ord) => {
      this.#waiting.claim(request);
      Object.assign(request, { state: "claimed", batchKey: input.key, ord });
    });
    return { ok: true, batch: batchRow(this.#batches.add(input, chosen)) };
  }

  async lease(input: LeaseInput): Promise<readonly BatchRow[]> {
    this.#assertOpen();
    return this.#batches.lease(input).map(batchRow);
  }

  async transition(key: string, fence: number, changes: BatchChanges, now: number): Promise<TransitionResult> {
    this.#assertOpen();
    return this.#batches.transition(key, fence, changes, now);
  }

  async requests(query: RequestQuery): Promise<readonly RequestRow[]> {
    this.#assertOpen();
    const found = "ids" in query ? query.ids.map((id) => this.#requests.get(id)) : this.#members(query);
    const rows = found
      .filter((request) => request !== undefined && request !== null)
      .map((request) => requestRow(request, query.bodies ?? false, query.history ?? false));
    return "ids" in query && query.tombstones ? this.#pruning.among(query.ids, rows) : rows;
  }

  async settle(input: SettleInput): Promise<SettleResult> {
    this.#assertOpen();
    const batch = this.#batches.held(input.key, input.fence);
    if (batch === undefined) return { ok: false, reason: "fence" };
    let applied = 0;
    for (const item of input.items) {
      const request = batch.members[item.ord];
      if (request === undefined || request === null) continue;
      applied += 1;
      this.#batches.payers.charge(batch, item);
      const wantsOut = request.cancelRequested;
      this.#release(batch, request);
      if (item.charged) request.attempts += 1;
      const place = { batchKey: input.key, sinks: input.sinks, now: input.now };
      if (item.kind === "final") this.#log.end(request, { ...item, ...place });
      else if (wantsOut) {
        const { cancelledPayload: payload, cancelledCode: code } = input;
        this.#log.end(request, { status: "cancelled", payload, code, usage: null, ...place });
      } else {
        request.history.push({ batchKey: input.key, code: item.code, at: input.now });
        Object.assign(request, item.appended);
        this.#waiting.addAgain(request, item.lane, item.notBefore);
      }
    }
    if (applied > 0 && batch.remaining === 0) this.#batches.payers.release(batch);
    return { ok: true, applied, ignored: input.items.length - applied, remaining: batch.remaining };
  }

  async outcomes(query: OutcomeQuery): Promise<readonly OutcomeRow[]> {
    this.#assertOpen();
    if ("after" in query) return this.#log.after(query);
    return query.ids
      .map((id) => this.#requests.get(id)?.outcome ?? null)
      .filter((outcome) => outcome !== null)
      .map((outcome) => outcomeRow(outcome, query.deliveries ?? false));
  }

  async deliveries(input: DeliveriesInput): Promise<readonly DeliveryRow[]> {
    this.#assertOpen();
    return this.#log.deliver(input);
  }

  async batches(query: BatchQuery): Promise<readonly BatchRow[]> {
    this.#assertOpen();
    return this.#batches.find(query).map(batchRow);
  }

  async find({ match, after, limit }: FindQuery): Promise<FindResult> {
    this.#assertOpen();
    const found: MemoryRequest[] = [];
    for (const request of this.#requests.values()) {
      if (found.length > limit) break;
      if (request.arrival > after && matches(request, request.outcome, match)) found.push(request);
    }
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.arrival ?? after) : null;
    return { rows: page.map((request) => requestRow(request, false, false)), next };
  }

  async usage({ tenant, job }: UsageQuery): Promise<readonly UsageRow[]> {
    this.#assertOpen();
    const asked = this.#log.usage
      .all()
      .filter((sums) => (tenant ?? sums.tenant) === sums.tenant && (job ?? sums.job) === sums.job);
    return asked.map((sums) => ({ ...sums, ended: { ...sums.ended } }));
  }

  async marks(changes: readonly MarkChange[]): Promise<readonly MarkRow[]> {
    this.#assertOpen();
    return this.#marks.change(changes);
  }

  async payers(changes: readonly PayerChange[], names: readonly string[]): Promise<readonly PayerRow[]> {
    this.#assertOpen();
    return this.#batches.payers.change(changes, names);
  }

  async prune(input: PruneInput): Promise<PruneStep> {
    this.#assertOpen();
    return this.#pruning.step(input);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #assertOpen(): void {
    if (this.#closed) throw new DispatchError("CLOSED", "The store is closed.");
  }

  #add(fresh: NewRequest, now: number): EnqueueResult {
    const known = this.#requests.get(fresh.id)?.digest ?? this.#pruning.digestOf(fresh.id);
    if (known !== undefined) return hasDigest(known, fresh.digest) ? "same" : "conflict";
    this.#arrivals += 1;
    const request: MemoryRequest = {
      ...fresh,
      state: "ready",
      createdAt: now,
      notBefore: 0,
      attempts: 0,
      generation: 0,
      batchKey: null,
      ord: null,
      cancelRequested: false,
      turns: null,
      history: [],
      arrival: this.#arrivals,
      rank: this.#waiting.rank(fresh),
      outcome: null,
    };
    this.#requests.set(request.id, request);
    this.#log.usage.requested(request);
    this.#waiting.add(request);
    return "stored";
  }

  #members({ batchKey, fromOrd, limit }: Extract<RequestQuery, { batchKey: string }>): (MemoryRequest | null)[] {
    const open = this.#batches.get(batchKey)?.members.slice(fromOrd) ?? [];
    return open.filter((request) => request !== null).slice(0, limit);
  }

  /** Removes a request from its batch. The only place where a claimed request leaves it. */
  #release(batch: MemoryBatch, request: MemoryRequest): void {
    batch.members[request.ord ?? 0] = null;
    batch.remaining -= 1;
    if (request.cancelRequested) batch.cancelRequested -= 1;
    Object.assign(request, { batchKey: null, ord: null, cancelRequested: false });
  }
}
