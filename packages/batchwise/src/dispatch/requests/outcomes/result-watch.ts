// Warns about calls of `result` and `outcomes` that will wait long: no process runs the loops, or
// the lane of a `result` closes more than a minute later. Checks one second after a wait begins and
// once more after a minute. Only reads the store.

import { DispatchError, type DispatchErrorCode } from "../../contract/errors.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import type { Runtime } from "../../runtime/runtime.ts";

const LOOKS_MS = [1_000, 60_000] as const;
/** Loops idle for longer count as stopped; a lane that closes later counts as late. */
const LONG_MS = 60_000;
const MINUTE = 60_000;

export interface ResultWatchInput {
  readonly runtime: Runtime;
  /** A waiting call, with the id if it is a `result`; null if none waits. */
  readonly waiting: () => { readonly call: string; readonly id: string | null } | null;
  /** The time at which a lane closes its batch: see batches/seal/thresholds.ts. */
  readonly closesAt: (lane: LaneRow, now: number) => number;
}

export class ResultWatch {
  readonly #input: ResultWatchInput;
  #timer: unknown = null;

  constructor(input: ResultWatchInput) {
    this.#input = input;
  }

  /** Called when a wait begins. */
  begin(): void {
    if (this.#timer === null) this.#lookIn(0);
  }

  /** Call when no call is waiting. */
  end(): void {
    this.#input.runtime.clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  #lookIn(look: number): void {
    const { clock } = this.#input.runtime;
    const delayMs = LOOKS_MS[look];
    this.#timer = null;
    if (delayMs === undefined) return;
    this.#timer = clock.setTimeout(() => {
      this.#lookIn(look + 1);
      // The loops report a store that does not answer.
      this.#look().catch(() => {});
    }, delayMs);
  }

  async #look(): Promise<void> {
    const { runtime, waiting } = this.#input;
    await runtime.readPauses();
    const wait = waiting();
    if (wait === null || runtime.isStopping) return;
    const ranAt = runtime.loopsRanAt;
    if (ranAt === null || ranAt + LONG_MS < runtime.clock.now()) {
      const since = ranAt === null ? "No process has run" : `Since ${new Date(ranAt).toISOString()} no process has run`;
      const ways = "call `start()` here, or in a process that stays";
      this.#report("NOT_STARTED", `\`${wait.call}\` waits in vain. ${since} the loops of this store: ${ways}.`);
      return;
    }
    if (wait.id !== null) await this.#lookAtLane(wait.id);
  }

  async #lookAtLane(id: string): Promise<void> {
    const { runtime, closesAt } = this.#input;
    const { store, clock, options } = runtime;
    const [row] = await store.requests({ ids: [id] });
    const now = clock.now();
    if (row === undefined || row.state !== "ready" || row.notBefore > now) return;
    const { lanes } = await store.probe(options.thresholds.maxRequests, now);
    const lane = lanes.find((one) => one.lane === row.lane);
    if (lane === undefined) return;
    const leftMs = closesAt(lane, now) - now;
    if (leftMs <= LONG_MS || leftMs === Number.POSITIVE_INFINITY) return;
    const { maxRequests } = options.thresholds;
    const when = `until ${maxRequests} requests wait with it, or for ${Math.round(leftMs / MINUTE)} minutes`;
    const ways = "call `flush()` to send what waits now, or lower `thresholds.maxAgeMs`";
    this.#report("WAITS_FOR_BATCH", `\`result("${id}")\` waits for its batch to close: ${when}: ${ways}.`);
  }

  /** Reports each code once. */
  #report(code: DispatchErrorCode, message: string): void {
    this.#input.runtime.reportOnce(code, new DispatchError(code, message), { operation: "work" });
  }
}
