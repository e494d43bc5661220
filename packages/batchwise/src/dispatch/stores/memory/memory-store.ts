// A store in memory: for tests, simulations and work that may be lost with the process. Guarantees
// the store contract except durability. Every method does its whole work in one turn, so that calls
// never overlap.

import { DispatchError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import { hasDigest } from "../../contract/store/digests.ts";
import { matches } from "../../contract/store/finding.ts";
import type { NewRequest, RequestQuery } from "../../contract/store/rows.ts";
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

  readonly enqueue: Store["enqueue"] = async (requests, now) => {
    this.#assertOpen();
    return requests.map((request) => this.#add(request, now));
  };

  readonly amend: Store["amend"] = async (change, sinks, now) => {
    this.#assertOpen();
    return this.#changes.amend(change, sinks, now);
  };

  readonly probe: Store["probe"] = async (limit, now) => {
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
  };

  readonly seal: Store["seal"] = async (input) => {
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
  };

  readonly lease: Store["lease"] = async (input) => {
    this.#assertOpen();
    return this.#batches.lease(input).map(batchRow);
  };

  readonly transition: Store["transition"] = async (key, fence, changes, now) => {
    this.#assertOpen();
    return this.#batches.transition(key, fence, changes, now);
  };

  readonly requests: Store["requests"] = async (query) => {
    this.#assertOpen();
    const found = "ids" in query ? query.ids.map((id) => this.#requests.get(id)) : this.#members(query);
    const rows = found
      .filter((request) => request !== undefined && request !== null)
      .map((request) => requestRow(request, query.bodies ?? false, query.history ?? false));
    return "ids" in query && query.tombstones ? this.#pruning.among(query.ids, rows) : rows;
  };

  readonly settle: Store["settle"] = async (input) => {
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
  };

  readonly outcomes: Store["outcomes"] = async (query) => {
    this.#assertOpen();
    if ("after" in query) return this.#log.after(query);
    return query.ids
      .map((id) => this.#requests.get(id)?.outcome ?? null)
      .filter((outcome) => outcome !== null)
      .map((outcome) => outcomeRow(outcome, query.deliveries ?? false));
  };

  readonly deliveries: Store["deliveries"] = async (input) => {
    this.#assertOpen();
    return this.#log.deliver(input);
  };

  readonly batches: Store["batches"] = async (query) => {
    this.#assertOpen();
    return this.#batches.find(query).map(batchRow);
  };

  readonly find: Store["find"] = async ({ match, after, limit }) => {
    this.#assertOpen();
    const found: MemoryRequest[] = [];
    for (const request of this.#requests.values()) {
      if (found.length > limit) break;
      if (request.arrival > after && matches(request, request.outcome, match)) found.push(request);
    }
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.arrival ?? after) : null;
    return { rows: page.map((request) => requestRow(request, false, false)), next };
  };

  readonly usage: Store["usage"] = async ({ tenant, job }) => {
    this.#assertOpen();
    const asked = this.#log.usage
      .all()
      .filter((sums) => (tenant ?? sums.tenant) === sums.tenant && (job ?? sums.job) === sums.job);
    return asked.map((sums) => ({ ...sums, ended: { ...sums.ended } }));
  };

  readonly marks: Store["marks"] = async (changes) => {
    this.#assertOpen();
    return this.#marks.change(changes);
  };

  readonly payers: Store["payers"] = async (changes, names) => {
    this.#assertOpen();
    return this.#batches.payers.change(changes, names);
  };

  readonly prune: Store["prune"] = async (input) => {
    this.#assertOpen();
    return this.#pruning.step(input);
  };

  readonly close: Store["close"] = async () => {
    this.#closed = true;
  };

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
