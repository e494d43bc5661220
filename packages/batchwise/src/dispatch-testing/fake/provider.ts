// The strict fake provider: a Batch API with files and batches but no model, on a test's clock. It
// refuses, or fails later, whatever real providers refuse or fail, and can be scripted to show
// every fault observed at a real provider. It records each call and each accepted line, so that
// duplicate work is counted directly. One fake is one account and keeps everything in memory.

import { bindMethods } from "../../core/contract/bind-methods.ts";
import { type DROPPED, type Exchange, jsonReply, Refusal, type Reply } from "./exchange.ts";
import type { FakeFault, FakeOperation } from "./fault-types.ts";
import { answerUnder, FaultBook } from "./faults.ts";
import { seededRandom } from "./random.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import type { Route, Surface } from "./surface.ts";
import { surfacesOf } from "./surfaces.ts";
import { type Fetch, inProcessFetch, type Listening, listen } from "./transport.ts";
import type { FakeBatchView, FakeExecution, FakeOptions, FakePlan, ForeignBatch } from "./types.ts";

/** A strict provider in this process. Records accepted work and misbehaves as scripted. */
export interface FakeProvider {
  /**
   * Pass this to an official client as `fetch`. It uses no socket, so it works under a virtual
   * clock.
   */
  readonly fetch: Fetch;
  /**
   * Serves on a free port of 127.0.0.1. A client's base URL is `${url}/v1` (OpenAI) or `url`
   * (Anthropic).
   */
  listen(): Promise<Listening>;
  /** Adds a fault for future calls. Faults of one operation hit in order. */
  inject(fault: FakeFault): void;
  /** Number of calls that a fault has hit. */
  readonly faultsHit: number;
  /** Removes all faults that have not hit yet. */
  heal(): void;
  /** Overrides the plan of the next batch to be created. Several calls override one batch each. */
  planNext(plan: Partial<FakePlan>): void;
  /** Creates a batch of another client, now. */
  addForeign(batch: ForeignBatch): void;
  /** Number of calls received, faulty ones included; of one operation or of all. */
  calls(operation?: FakeOperation): number;
  /** Number of calls not answered yet. */
  readonly open: number;
  /** Every line that was accepted and not refused by validation, in order of acceptance. */
  executions(): FakeExecution[];
  /** How often each identity has run, without lines of other clients. */
  runs(): Map<string, number>;
  /** All accepted batches, including other clients'. */
  batches(): readonly FakeBatchView[];
}

/**
 * Makes a fake provider. It answers OpenAI's paths with and without `/v1`; OpenAI itself requires
 * `/v1`.
 *
 * @example
 * ```ts
 * import { fakeProvider } from "batchwise/dispatch/testing";
 * import { virtualClock } from "batchwise/testing";
 * const fake = fakeProvider({ clock: virtualClock(Date.UTC(2026, 0, 1)), listLagMs: 30_000 });
 * fake.inject({ on: "batches.create", reply: "drop" }); // accepted, but the client gets no answer
 * ```
 */
export function fakeProvider(options: FakeOptions = {}): FakeProvider {
  return new Fake(resolveSettings(options));
}

class Fake implements FakeProvider {
  readonly fetch: Fetch;
  readonly #settings: Settings;
  readonly #surfaces: readonly Surface[];
  readonly #faults: FaultBook;
  readonly #calls: Map<FakeOperation, number> = new Map();
  #open = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#surfaces = surfacesOf(settings);
    this.#faults = new FaultBook(seededRandom(settings.seed + 1), () => settings.clock.now());
    this.fetch = inProcessFetch((exchange) => this.#answer(exchange));
    bindMethods(this);
  }

  listen(): Promise<Listening> {
    return listen((exchange) => this.#answer(exchange));
  }

  inject(fault: FakeFault): void {
    this.#faults.add(fault);
    this.#settings.storage?.inject(fault);
  }

  get faultsHit(): number {
    return this.#faults.hits + (this.#settings.storage?.faultsHit ?? 0);
  }

  heal(): void {
    this.#faults.clear();
    this.#settings.storage?.heal();
  }

  planNext(plan: Partial<FakePlan>): void {
    this.#settings.planNext(plan);
  }

  addForeign(batch: ForeignBatch): void {
    if (batch.plan !== undefined) this.planNext(batch.plan);
    const surface = this.#surfaces.find(({ name }) => name === batch.surface) ?? this.#surfaces[0];
    surface?.addForeign(batch.requests);
  }

  calls(operation?: FakeOperation): number {
    if (operation !== undefined) return this.#calls.get(operation) ?? 0;
    let total = 0;
    for (const count of this.#calls.values()) total += count;
    return total;
  }

  get open(): number {
    return this.#open;
  }

  executions(): FakeExecution[] {
    const all = this.#surfaces.flatMap(({ book }) => [...book.executions()]);
    return all.sort((a, b) => a.acceptedAt - b.acceptedAt);
  }

  runs(): Map<string, number> {
    const runs = new Map<string, number>();
    for (const { identity, ran, foreign } of this.executions()) {
      if (ran && !foreign) runs.set(identity, (runs.get(identity) ?? 0) + 1);
    }
    return runs;
  }

  batches(): readonly FakeBatchView[] {
    return this.#surfaces.flatMap(({ name, book }) => book.views().map((view) => ({ ...view, surface: name })));
  }

  async #answer(exchange: Exchange): Promise<Reply | typeof DROPPED> {
    const { method, path } = exchange;
    const found = this.#find(method, path);
    if (found === null)
      return jsonReply({ error: { message: `Unknown URL ${method} ${path}.`, code: "unknown_url" } }, 404);
    const { operation } = found.route;
    this.#calls.set(operation, this.calls(operation) + 1);
    this.#open += 1;
    try {
      return await this.#withFault(found, exchange);
    } finally {
      this.#open -= 1;
    }
  }

  #find(method: string, path: string): Called | null {
    for (const surface of this.#surfaces) {
      const route = surface.route(method, path);
      if (route !== null) return { surface, route };
    }
    return null;
  }

  #withFault(called: Called, exchange: Exchange): Promise<Reply | typeof DROPPED> {
    const fault = this.#faults.take(called.route.operation);
    return answerUnder(
      fault,
      this.#settings.clock,
      () => run(called, exchange),
      (refusal) => called.surface.refused(refusal),
    );
  }
}

/** A call, and the surface that takes it. */
interface Called {
  readonly surface: Surface;
  readonly route: Route;
}

function run({ surface, route }: Called, exchange: Exchange): Reply {
  try {
    return surface.run(route.operation, route.id, exchange);
  } catch (error) {
    if (error instanceof Refusal) return surface.refused(error);
    throw error;
  }
}
