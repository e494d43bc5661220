// Ends a job whose requests all wait for money: each lane with open requests costs more than is
// left of a limit, and no batch is open whose answers could release some. Idle until the sealer
// meets a limit.

import type { PriceLimitError } from "../contract/errors.ts";
import { laneProper } from "../contract/lanes.ts";
import { LIVE } from "../decide/batch/life-cycle.ts";
import { Loop } from "../runtime/loop.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { openLanes } from "./open-lanes.ts";

const FIRST_LOOK_MS = 100;
const LAST_LOOK_MS = 10_000;
/** Maximum open batches to read; with more, the job continues. */
const MOST_BATCHES = 1_000;

export interface PriceGuardInput {
  readonly runtime: Runtime;
  readonly job: string;
  /** True once all requests of the job are stored. */
  readonly produced: { readonly isDone: boolean };
  /** Called once. */
  readonly onStuck: (error: PriceLimitError) => void;
}

export class PriceGuard {
  readonly #input: PriceGuardInput;
  readonly #loop: Loop;
  #lookMs = FIRST_LOOK_MS;
  /**
   * The sealer's look at which nothing of the job could run. Only later refusals count: they have
   * seen all money that was released.
   */
  #stuckSince: number | null = null;

  constructor(input: PriceGuardInput) {
    const { runtime } = input;
    this.#input = input;
    this.#loop = new Loop(runtime.clock, (error) => runtime.reportShared(error, { operation: "store" }));
  }

  start(): void {
    const { runtime } = this.#input;
    runtime.limits.onStop = () => {
      this.#lookMs = FIRST_LOOK_MS;
      this.#loop.wakeAt(runtime.clock.now() + FIRST_LOOK_MS);
    };
    this.#loop.start(() => this.#turn());
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #turn(): Promise<number> {
    const { runtime, onStuck } = this.#input;
    const { limits } = runtime;
    if (limits.stops.size === 0 || runtime.isStopping) return Number.POSITIVE_INFINITY;
    const lanes = await this.#stoppedLanes();
    if (lanes === null) this.#stuckSince = null;
    else if (this.#stuckSince === null) {
      this.#stuckSince = limits.look;
      runtime.sealing.wake();
    } else {
      const stops = lanes.map((lane) => limits.stops.get(lane));
      const since = this.#stuckSince;
      const [first] = stops;
      if (first !== undefined && stops.every((stop) => stop !== undefined && stop.look > since)) {
        onStuck(limits.errorOf(first.payer));
        return Number.POSITIVE_INFINITY;
      }
    }
    this.#lookMs = Math.min(2 * this.#lookMs, LAST_LOOK_MS);
    return runtime.clock.now() + this.#lookMs;
  }

  /** The lanes of the job; null if some request of it can run, or may be able to. */
  async #stoppedLanes(): Promise<readonly string[] | null> {
    const { runtime, job, produced } = this.#input;
    const { store, clock, limits } = runtime;
    if (!produced.isDone) return null;
    const open = await openLanes(runtime, job);
    const isOurs = ({ lane }: { readonly lane: string }): boolean => open.has(laneProper(lane));
    const live = await store.batches({ states: LIVE, limit: MOST_BATCHES });
    if (live.length === MOST_BATCHES || live.some(isOurs)) return null;
    const waiting = (await store.probe(1, clock.now())).lanes.filter(isOurs);
    const seen = new Set(waiting.map(({ lane }) => laneProper(lane)));
    if (open.size === 0 || seen.size < open.size) return null;
    // Answers of other batches of the same payer may release money.
    const stops = waiting.map(({ lane }) => limits.stops.get(lane));
    const names = stops.flatMap((stop) => stop?.payer.name ?? []);
    if (names.length < stops.length) return null;
    const payers = await store.payers([], [...new Set(names)]);
    return payers.some(({ reserved }) => reserved > 0) ? null : waiting.map(({ lane }) => lane);
  }
}
