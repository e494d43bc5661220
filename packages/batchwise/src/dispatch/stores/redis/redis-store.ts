// The store in a Redis server: for dispatchers on several machines that already share one. Every
// call runs one script once; the server runs scripts one at a time. Durability depends on the
// server's append-only file: docs/dispatch-stores.md lists what can be lost. The user owns the
// client.

import { DispatchError } from "../../contract/errors.ts";
import type { Amended, EnqueueResult, SealResult, TransitionResult } from "../../contract/store/calls.ts";
import type { OutcomeQuery } from "../../contract/store/outcome-rows.ts";
import type { BatchRow, RequestQuery, UsageRow } from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import { type RedisStoreOptions, resolveRedisStoreOptions } from "./options.ts";
import { batchRow, list, markRows, number, outcomeRow, payerRow, probeRow, requestRow, usageRow } from "./rows.ts";
import { type Reply, Server } from "./server.ts";

/** Maximum of a limit. */
const MOST = 2 ** 31 - 1;

/**
 * Makes a `Store` in the client's Redis server (7.0 or later). In a cluster all of its keys are on
 * one node, because they share one hash tag.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for an unknown option or a value that is no
 * client.
 *
 * @example
 * ```ts
 * import { type RedisClient, redisStore } from "batchwise/dispatch/redis";
 * function storeOf(client: RedisClient) { // new Redis() of ioredis, or await createClient().connect() of node-redis
 *   return redisStore({ client });
 * }
 * ```
 */
export function redisStore(options: RedisStoreOptions): Store {
  return new RedisStore(new Server(resolveRedisStoreOptions(options)));
}

class RedisStore implements Store {
  readonly #server: Server;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  constructor(server: Server) {
    this.#server = server;
  }

  get setBack(): DispatchError | null {
    return this.#server.setBack;
  }

  get risk(): DispatchError | null {
    return this.#server.risk;
  }

  readonly now = async (): Promise<number> => number(await this.#run("now", {}));

  readonly enqueue: Store["enqueue"] = async (requests, now) =>
    list(await this.#run("enqueue", { requests, now })) as readonly EnqueueResult[];

  readonly amend: Store["amend"] = async (change, sinks, now) => {
    const limited = "limit" in change ? { ...change, limit: atMost(change.limit) } : change;
    const ids = "ids" in limited ? limited.ids : null;
    const sent = ids === null ? limited : { ...limited, ids: ids.map(sendable) };
    const flat = list(await this.#run("amend", { change: sent, sinks, now }));
    return Array.from({ length: flat.length / 2 }, (_, n) => ({
      id: ids?.[n] ?? String(flat[2 * n]),
      result: flat[2 * n + 1] as Amended["result"],
    }));
  };

  readonly probe: Store["probe"] = async (limit, now) =>
    probeRow(await this.#run("probe", { limit: atMost(limit), now }));

  readonly seal: Store["seal"] = async (input) => {
    let [result, value] = list(await this.#run("seal", input));
    // More requests have become claimable than one call should move, and the first of them may go
    // first.
    while (result === "more") [result, value] = list(await this.#run("seal", input));
    if (result === "ok") return { ok: true, batch: batchRow(value ?? null) };
    const [id, bytes, tokens] = list(value);
    const head = id === undefined ? null : { id: String(id), bytes: number(bytes), tokens: number(tokens) };
    return { ok: false, reason: result as Extract<SealResult, { ok: false }>["reason"], head };
  };

  readonly lease: Store["lease"] = async (input) => {
    const { keys } = input;
    const sent = { ...input, ...(keys === undefined ? {} : { keys: keys.map(sendable) }), limit: atMost(input.limit) };
    return list(await this.#run("lease", sent)).map(batchRow);
  };

  readonly transition: Store["transition"] = async (key, fence, changes, now) => {
    const [result, batch, written] = list(await this.#run("transition", { key, fence, changes, now }));
    if (result === "ok") {
      return { ok: true, batch: batchRow(batch ?? null), written: list(written ?? []).map((one) => number(one) === 1) };
    }
    return { ok: false, reason: result as Extract<TransitionResult, { ok: false }>["reason"] };
  };

  readonly requests: Store["requests"] = async (query) => {
    if ("batchKey" in query && isOdd(query.batchKey)) return [];
    return list(await this.#run("requests", bounded(query))).map(requestRow);
  };

  readonly settle: Store["settle"] = async (input) => {
    const [result, applied, ignored, remaining] = list(await this.#run("settle", input));
    if (result !== "ok") return { ok: false, reason: "fence" };
    return { ok: true, applied: number(applied), ignored: number(ignored), remaining: number(remaining) };
  };

  readonly outcomes: Store["outcomes"] = async (query) => {
    if ("limit" in query && isOdd(query.job, query.dead)) return [];
    return list(await this.#run("outcomes", bounded(query))).map(outcomeRow);
  };

  readonly deliveries: Store["deliveries"] = async (input) => {
    const take = input.take === null ? null : { ...input.take, limit: atMost(input.take.limit) };
    let replies = await this.#run("deliveries", { ...input, take });
    // After an outage more deliveries are due than one call should move, and they may have the
    // oldest cursor.
    while (replies === "more") replies = await this.#run("deliveries", { ...input, take });
    return list(replies).map((reply) => {
      const [sink, attempt, outcome] = list(reply);
      return { sink: String(sink), attempt: number(attempt), outcome: outcomeRow(outcome ?? null) };
    });
  };

  /**
   * Reads all batches in parts if necessary. A batch that changes meanwhile is seen before or after
   * the change.
   */
  readonly batches: Store["batches"] = async (query) => {
    if (isOdd(query.account)) return [];
    const { keys, providerBatchIds: ids } = query;
    const sent = {
      ...query,
      ...(keys === undefined ? {} : { keys: keys.map(sendable) }),
      ...(ids === undefined ? {} : { providerBatchIds: ids.map(sendable) }),
    };
    const found: BatchRow[] = [];
    for (let last: readonly Reply[] | undefined; ; ) {
      const limit = atMost(query.limit - found.length);
      const [rows, next] = list(await this.#run("batches", { ...sent, limit, last }));
      found.push(...list(rows).map(batchRow));
      last = list(next);
      if (last.length === 0) return found;
    }
  };

  readonly find: Store["find"] = async (query) => {
    const { tenant, job, code, batchKey } = query.match;
    if (isOdd(tenant, job, code, batchKey)) return { rows: [], next: null };
    const input = { ...query, limit: atMost(query.limit) };
    for (;;) {
      const [result, rows, next] = list(await this.#run("find", input));
      if (result === "ok") return { rows: list(rows).map(requestRow), next: next === null ? null : number(next) };
      await this.#index();
    }
  };

  /**
   * Reads by pages, so that the server is never blocked for long. A sum that grows meanwhile is
   * seen before or after.
   */
  readonly usage: Store["usage"] = async (query) => {
    const sums = new Map<Reply | undefined, UsageRow>();
    if (isOdd(query.tenant, query.job)) return [];
    let cursor = "0";
    do {
      const [next, rows] = list(await this.#run("usage", { ...query, cursor }));
      for (const row of list(rows)) sums.set(list(row)[0], usageRow(row));
      cursor = String(next);
    } while (cursor !== "0");
    return [...sums.values()];
  };

  readonly marks: Store["marks"] = async (changes) =>
    markRows(await this.#run(changes.length === 0 ? "readMarks" : "marks", { changes }));

  readonly payers: Store["payers"] = async (changes, names) => {
    const method = changes.length === 0 ? "readPayers" : "payers";
    return list(await this.#run(method, { changes, names: names.map(sendable) })).map(payerRow);
  };

  readonly prune: Store["prune"] = async (input) => {
    const limited = { ...input, limit: atMost(input.limit) };
    const [requests, batches, kept, next] = list(await this.#run("prune", limited));
    const counts = { requests: number(requests), batches: number(batches), kept: number(kept) };
    return { ...counts, next: next === null ? null : number(next) };
  };

  readonly close: Store["close"] = () => {
    this.#closing ??= Promise.allSettled(this.#running).then(() => undefined);
    return this.#closing;
  };

  /** Runs once for a store of an earlier version. */
  async #index(): Promise<void> {
    let cursor = "0";
    do cursor = String(await this.#run("index", { cursor }));
    while (cursor !== "0");
  }

  async #run(method: string, input: unknown): Promise<Reply> {
    if (this.#closing !== null) throw new DispatchError("CLOSED", "The store is closed.");
    const call = this.#server.run(method, input);
    this.#running.add(call);
    return call.finally(() => this.#running.delete(call));
  }
}

function bounded(query: RequestQuery | OutcomeQuery): object {
  return "ids" in query ? { ...query, ids: query.ids.map(sendable) } : { ...query, limit: atMost(query.limit) };
}

/**
 * An id to send. The server cannot read JSON with half a surrogate pair, and no request has such an
 * id or an empty one, so the empty id replaces it and matches nothing.
 */
function sendable(id: string): string {
  return isOdd(id) ? "" : id;
}

/** True if a text has half a surrogate pair: nothing in the store has such a name. */
function isOdd(...texts: readonly (string | undefined)[]): boolean {
  return texts.some((text) => text !== undefined && /\p{Surrogate}/u.test(text));
}

function atMost(limit: number): number {
  return Math.max(0, Math.min(limit, MOST));
}
