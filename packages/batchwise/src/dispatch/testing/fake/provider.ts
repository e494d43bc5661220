// The strict fake provider: what a Batch API does with files and batches, without a model, under a clock of the test's
// choosing. It refuses what the real ones refuse, fails later what they fail later, and can be told to misbehave in
// every way that has been seen of them. It keeps account of each call and each line it accepted, so that work done
// twice is counted here and not inferred. One fake is one account; it holds everything in memory.

import type { Clock } from "../../../core/clock.ts";
import { DROPPED, type Exchange, jsonReply, Refusal, type Reply } from "./exchange.ts";
import { FaultBook } from "./faults.ts";
import { OpenAiSurface } from "./openai-surface.ts";
import { seededRandom } from "./random.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { type Fetch, inProcessFetch, type Listening, listen } from "./transport.ts";
import type { FakeExecution, FakeFault, FakeOperation, FakeOptions, FakePlan, ForeignBatch } from "./types.ts";

export interface FakeProvider {
  /** Give this to an official client as `fetch`: no socket, so a virtual clock sees everything happen at once. */
  readonly fetch: Fetch;
  /** Serves on a free port of 127.0.0.1. A client's base URL is `${url}/v1` (OpenAI) or `url` (Anthropic). */
  listen(): Promise<Listening>;
  /** Puts a fault into calls to come. Several wait their turn. */
  inject(fault: FakeFault): void;
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

export interface FakeBatchView {
  readonly id: string;
  readonly surface: "openai" | "anthropic";
  readonly state: string;
  readonly requests: number;
  readonly acceptedAt: number;
  readonly foreign: boolean;
}

/**
 * Makes a fake provider.
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
  readonly #openai: OpenAiSurface;
  readonly #faults: FaultBook;
  readonly #calls: Map<FakeOperation, number> = new Map();
  #open = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#openai = new OpenAiSurface(settings);
    this.#faults = new FaultBook(seededRandom(settings.seed + 1));
    this.fetch = inProcessFetch((exchange) => this.#answer(exchange));
  }

  listen(): Promise<Listening> {
    return listen((exchange) => this.#answer(exchange));
  }

  inject(fault: FakeFault): void {
    this.#faults.add(fault);
  }

  heal(): void {
    this.#faults.clear();
  }

  planNext(plan: Partial<FakePlan>): void {
    this.#settings.planNext(plan);
  }

  addForeign(batch: ForeignBatch): void {
    if (batch.plan !== undefined) this.planNext(batch.plan);
    this.#openai.addForeign(batch.requests);
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
    return [...this.#openai.book.executions()].sort((a, b) => a.acceptedAt - b.acceptedAt);
  }

  runs(): Map<string, number> {
    const runs = new Map<string, number>();
    for (const { identity, ran, foreign } of this.executions()) {
      if (ran && !foreign) runs.set(identity, (runs.get(identity) ?? 0) + 1);
    }
    return runs;
  }

  batches(): readonly FakeBatchView[] {
    return this.#openai.book.all().map((batch) => ({
      id: batch.id,
      surface: "openai",
      state: this.#openai.book.moment(batch).phase,
      requests: batch.entries.length,
      acceptedAt: batch.course.acceptedAt,
      foreign: batch.foreign,
    }));
  }

  async #answer(exchange: Exchange): Promise<Reply | typeof DROPPED> {
    const route = OpenAiSurface.route(exchange.method, exchange.path);
    if (route === null)
      return refused(new Refusal(404, "unknown_url", `Unknown URL ${exchange.method} ${exchange.path}.`));
    this.#calls.set(route.operation, this.calls(route.operation) + 1);
    this.#open += 1;
    try {
      return await this.#withFault(this.#faults.take(route.operation), () => this.#run(route, exchange));
    } finally {
      this.#open -= 1;
    }
  }

  async #withFault(fault: FakeFault | null, run: () => Reply): Promise<Reply | typeof DROPPED> {
    if (fault === null) return run();
    const { clock } = this.#settings;
    await sleep(clock, fault.delayMs ?? 0);
    const reply = fault.accept === false ? null : run();
    await sleep(clock, fault.replyDelayMs ?? 0);
    const wanted = fault.reply ?? "answer";
    if (wanted === "drop") return DROPPED;
    if (wanted === "answer") return reply ?? DROPPED;
    if ("status" in wanted) return jsonReply(wanted.body ?? defaultFault(wanted.status), wanted.status, wanted.headers);
    return reply === null ? DROPPED : { ...reply, cutAt: Math.min(wanted.cutAtBytes, reply.body.length) };
  }

  #run({ operation, id }: { readonly operation: FakeOperation; readonly id: string }, exchange: Exchange): Reply {
    try {
      return this.#openai.run(operation, id, exchange);
    } catch (error) {
      if (error instanceof Refusal) return refused(error);
      throw error;
    }
  }
}

function refused({ status, code, message, param, headers }: Refusal): Reply {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return jsonReply({ error: { message, type, param, code } }, status, headers);
}

function defaultFault(status: number): { readonly error: { readonly message: string; readonly code: string } } {
  return {
    error: { message: `Scripted answer ${status}.`, code: status === 429 ? "rate_limit_exceeded" : "scripted" },
  };
}

function sleep(clock: Clock, ms: number): Promise<void> {
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms);
  });
}
