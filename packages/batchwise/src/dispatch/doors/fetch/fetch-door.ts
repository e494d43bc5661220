// A `fetch` whose calls become requests of a dispatcher. It stores each call, waits for the
// outcome, and flushes lanes, in other processes too, when no new calls come. It keeps no answers:
// a second run finds them in the store by the call's digest.

import { attempt } from "../../../core/contract/thenable.ts";
import { unlessAborted } from "../../../core/contract/unless-aborted.ts";
import { serves } from "../../accounts/rank-accounts.ts";
import type { Sealer } from "../../batches/seal/sealer.ts";
import { DispatchError, prunedError } from "../../contract/errors.ts";
import type { RequestRow } from "../../contract/store/rows.ts";
import type { Endpoint, Outcome } from "../../contract/types.ts";
import { retryRequests } from "../../operate/retry-requests.ts";
import { Defaults } from "../../requests/enqueue/defaults.ts";
import type { Enqueuer } from "../../requests/enqueue/enqueuer.ts";
import type { OutcomeReader } from "../../requests/outcomes/outcome-reader.ts";
import { backoff } from "../../runtime/backoff.ts";
import { markFlushes } from "../../runtime/flush-marks.ts";
import { windowMsOf } from "../../runtime/prospects.ts";
import { Reported } from "../../runtime/reported.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { pause } from "../../runtime/wait-out.ts";
import { answerOf, refusalOf } from "./answers.ts";
import type { BatchFetchPlan, PendingCall } from "./batch-fetch-options.ts";
import { type CallRequest, callRequest } from "./call-request.ts";
import { Quiet } from "./quiet.ts";
import {
  batchedEndpoints,
  bodyOf,
  type FetchInit,
  type FetchInput,
  headersOf,
  passOn,
  signalOf,
  type Target,
  targetOf,
} from "./read-call.ts";

/** In s. A client with a shorter timeout rarely sees the answer of a batch. */
const SHORT_TIMEOUT_S = 3_600;
const GENERATIONS_AT_ONCE = 100;
/** Between attempts to write a flush to the store. */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 30_000;
const WAYS = "give the client `timeout: 172_800_000` and `maxRetries: 0`";

export interface FetchDoorInput {
  readonly runtime: Runtime;
  readonly sealer: Sealer;
  readonly enqueuer: Enqueuer;
  readonly reader: OutcomeReader;
}

/** Concurrent calls for one id. */
interface Waiting {
  /** Resolves with the request's lane once it is stored. */
  readonly lane: Promise<string>;
  callers: number;
}

export class FetchDoor {
  readonly #parts: FetchDoorInput;
  readonly #plan: BatchFetchPlan;
  readonly #endpoints: ReadonlySet<Endpoint>;
  readonly #defaults: Defaults;
  readonly #quiet: Quiet;
  readonly #waiting = new Map<string, Waiting>();
  /**
   * Ids whose failure a caller here has seen. Repeats get the same failure; they are not retried.
   */
  readonly #failed = new Set<string>();
  readonly #reported: Reported = new Reported();

  constructor(parts: FetchDoorInput, plan: BatchFetchPlan) {
    const { runtime } = parts;
    this.#parts = parts;
    this.#plan = plan;
    const accounts = [...runtime.options.accounts.values()];
    this.#endpoints = batchedEndpoints(accounts.flatMap(({ capabilities }) => capabilities.endpoints));
    this.#defaults = new Defaults(runtime.options);
    const { clock, stopping } = runtime;
    this.#quiet = new Quiet(clock, plan.flushAfterMs, stopping.signal, (lanes) => this.#onQuiet(lanes));
  }

  readonly fetch = async (input: FetchInput, init?: FetchInit): Promise<Response> => {
    const target = targetOf(input, init, this.#endpoints);
    if (target === null) return passOn(this.#plan.fetch, input, init);
    const signal = signalOf(input, init);
    signal?.throwIfAborted();
    try {
      const call = await this.#read(input, init, target);
      const outcome = await this.#outcomeOf(call, signal);
      return answerOf(outcome, target.endpoint, call.form);
    } catch (error) {
      signal?.throwIfAborted();
      return refusalOf(error, target.endpoint, this.#parts.runtime.options.accounts.keys());
    }
  };

  async #read(input: FetchInput, init: FetchInit, target: Target): Promise<CallRequest> {
    const { options, clock } = this.#parts.runtime;
    const headers = headersOf(input, init);
    const body = await bodyOf(input, init, target);
    this.#warnOfTimeout(headers);
    const accounts = options.accounts.values();
    const [plan, defaults] = [this.#plan, this.#defaults];
    return callRequest({ target, body, headers, plan, defaults, accounts, now: clock.now() });
  }

  async #outcomeOf({ request }: CallRequest, signal: AbortSignal | undefined): Promise<Outcome> {
    for (let generation = 1; ; generation = await this.#generationAfter(request.id, generation)) {
      const id = generation === 1 ? request.id : `${request.id}-${generation}`;
      try {
        return await this.#ask({ ...request, id }, signal);
      } catch (error) {
        // The old answer was pruned, so this call is a new request.
        if (!(error instanceof DispatchError) || error.code !== "PRUNED") throw error;
      }
    }
  }

  /** The first generation after `last` that is not pruned. */
  async #generationAfter(id: string, last: number): Promise<number> {
    const generations = Array.from({ length: GENERATIONS_AT_ONCE }, (_, index) => last + 1 + index);
    const ids = generations.map((generation) => `${id}-${generation}`);
    const rows = await this.#parts.runtime.store.requests({ ids, tombstones: true });
    const pruned = new Set(rows.filter(isPruned).map((row) => row.id));
    return generations.find((generation) => !pruned.has(`${id}-${generation}`)) ?? last + GENERATIONS_AT_ONCE;
  }

  async #ask(request: CallRequest["request"], signal: AbortSignal | undefined): Promise<Outcome> {
    const { reader, runtime } = this.#parts;
    const { id } = request;
    if (runtime.isStopping) throw new DispatchError("CLOSED", "The dispatcher is stopped.");
    const joined = this.#joined(request);
    try {
      this.#quiet.note(await (signal === undefined ? joined.lane : unlessAborted(joined.lane, signal)));
      this.#tell(request, "waiting");
      const outcome = await reader.result(id, signal, true);
      if (outcome.status !== "succeeded") this.#failed.add(id);
      this.#tell(request, "ended");
      return outcome;
    } catch (error) {
      if (signal?.aborted) this.#onLeft(request);
      throw error;
    } finally {
      joined.callers -= 1;
      if (joined.callers === 0) this.#waiting.delete(id);
    }
  }

  /** Concurrent equal calls share one store call and one try. */
  #joined(request: CallRequest["request"]): Waiting {
    const { id } = request;
    const waiting = this.#waiting.get(id) ?? { lane: this.#store(request), callers: 0 };
    waiting.callers += 1;
    this.#waiting.set(id, waiting);
    return waiting;
  }

  /** Stores the request and resolves with its lane. */
  async #store(request: CallRequest["request"]): Promise<string> {
    const { row, answer } = await this.#parts.enqueuer.put(request);
    if (answer === "same") await this.#sendAgain(row.id);
    return row.lane;
  }

  /** Retries a request that ended without success before this door was made. */
  async #sendAgain(id: string): Promise<void> {
    const { runtime, enqueuer } = this.#parts;
    if (this.#failed.has(id)) return;
    const [row] = await runtime.store.requests({ ids: [id], tombstones: true });
    if (row === undefined) return;
    if (isPruned(row)) throw prunedError(id);
    if (row.ended === null || row.ended.status === "succeeded") return;
    await retryRequests(runtime, [id], {}, (request) => enqueuer.rowOf(request));
  }

  #onQuiet(lanes: readonly string[]): void {
    const { runtime, sealer } = this.#parts;
    if (runtime.isStopping) return;
    sealer.flush(lanes);
    // It reports its errors.
    if (!runtime.sealing.isStarted) void this.#markFlushes(lanes, runtime.clock.now());
  }

  /** Tries again until the flush is written or the dispatcher stops. */
  async #markFlushes(lanes: readonly string[], at: number): Promise<void> {
    const { runtime } = this.#parts;
    for (let failures = 1; !runtime.isStopping; failures += 1) {
      try {
        await runtime.storeTime.measure();
        await markFlushes(runtime, lanes, at, runtime.storeTime.aheadMs);
        return;
      } catch (error) {
        runtime.reportShared(error, { operation: "work" });
        await pause(runtime.clock, backoff(FIRST_PAUSE_MS, LAST_PAUSE_MS, failures), [runtime.stopping.signal]);
      }
    }
  }

  #onLeft(request: CallRequest["request"]): void {
    this.#tell(request, "left");
    const message = `A call was aborted while its request waits. The request continues, and its answer is kept: ${WAYS}.`;
    this.#report("CALLER_LEFT", message);
  }

  /** Warns about a client timeout under an hour. In seconds; OpenAI's client sends only
   * the timeout of a call, not its own. */
  #warnOfTimeout(headers: Headers): void {
    const seconds = Number(headers.get("x-stainless-timeout") ?? Number.NaN);
    if (!(seconds < SHORT_TIMEOUT_S)) return;
    this.#report("SHORT_TIMEOUT", `The client gives up after ${seconds} s, and a batch may take a day: ${WAYS}.`);
  }

  /** Reports each code once: another client may make the same mistake. */
  #report(code: "CALLER_LEFT" | "SHORT_TIMEOUT", message: string): void {
    if (!this.#reported.note(code, 0, Number.POSITIVE_INFINITY)) return;
    this.#parts.runtime.report(new DispatchError(code, message), { operation: "work" });
  }

  #tell({ id, endpoint, body }: CallRequest["request"], state: PendingCall["state"]): void {
    const { onPending } = this.#plan;
    if (onPending === null) return;
    const { runtime } = this.#parts;
    const lane = { endpoint, model: String(body.model) };
    const serving = [...runtime.options.accounts.values()].filter((account) => serves(account, lane));
    const expectedAt = runtime.clock.now() + Math.max(0, ...serving.map(windowMsOf));
    attempt(
      () => onPending({ id, state, expectedAt }),
      (error) => runtime.report(error, { operation: "work" }),
    );
  }
}

/** True if pruning has left only the id and digest. */
function isPruned({ state, ended }: RequestRow): boolean {
  return state === "ended" && ended === null;
}
