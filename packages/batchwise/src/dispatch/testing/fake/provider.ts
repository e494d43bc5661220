// The strict fake provider: what a Batch API does with files and batches, without a model, under a
// clock of the test's choosing. It refuses what the real ones refuse, fails later what they fail
// later, and can be told to misbehave in every way that has been seen of them. It keeps account of
// each call and each line it accepted, so that work done twice is counted here and not inferred.
// One fake is one account; it holds everything in memory.

import { bindMethods } from "../../../core/contract/bind-methods.ts";
import { type DROPPED, type Exchange, jsonReply, Refusal, type Reply } from "./exchange.ts";
import { answerUnder, FaultBook } from "./faults.ts";
import { seededRandom } from "./random.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import type { Route, Surface } from "./surface.ts";
import { surfacesOf } from "./surfaces.ts";
import { type Fetch, inProcessFetch, type Listening, listen } from "./transport.ts";
import type {
  FakeBatchView,
  FakeExecution,
  FakeFault,
  FakeOperation,
  FakeOptions,
  FakePlan,
  ForeignBatch,
} from "./types.ts";

/** A strict provider in this process: what it was asked to run, and how it misbehaves. */
export interface FakeProvider {
  /**
   * Give this to an official client as `fetch`: no socket, so a virtual clock sees everything
   * happen at once.
   */
  readonly fetch: Fetch;
  /**
   * Serves on a free port of 127.0.0.1. A client's base URL is `${url}/v1` (OpenAI) or `url`
   * (Anthropic).
   */
  listen(): Promise<Listening>;
  /** Puts a fault into calls to come. Several wait their turn. */
  inject(fault: FakeFault): void;
  /** Calls that a fault has hit. */
  readonly faultsHit: number;
  /** Takes back every fault that has not hit yet. */
  heal(): void;
  /** Overrides the plan of the next batch to be created; several calls, several batches. */
  planNext(plan: Partial<FakePlan>): void;
  /** Somebody else creates a batch here, now. */
  addForeign(batch: ForeignBatch): void;
  /** Calls received, faulty ones included; of one operation or of all. */
  calls(operation?: FakeOperation): number;
  /** Calls not answered yet. */
  readonly open: number;
  /** Every line that was ever accepted and not refused by validation, in order of acceptance. */
  executions(): FakeExecution[];
  /** How often each identity has run, strangers' lines left out. */
  runs(): Map<string, number>;
  /** Batches accepted by now, strangers' included. */
  batches(): readonly FakeBatchView[];
}

/**
 * Makes a fake provider. It answers OpenAI's paths with and without `/v1`; OpenAI itself knows none
 * without.
 *
 * @example
 * ```ts
 * import { fakeProvider } from "batchwise/dispatch/testing";
 * import { virtualClock } from "batchwise/testing";
 * const fake = fakeProvider({ clock: virtualClock(Date.UTC(2026, 0, 1)), listLagMs: 30_000 });
 * fake.inject({ on: "batches.create", reply: "drop" }); // accepted, but the client never hears of it
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
