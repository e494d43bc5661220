// Ends a job whose requests all wait for money: each lane with open requests costs more than is
// left of a limit, and no batch is open whose answers could release some. Idle until the sealer
// meets a limit.

import { LIVE } from "../batches/life-cycle.ts";
import type { PriceLimitError } from "../contract/errors.ts";
import { parseLane } from "../format/encode.ts";
import { homeLane } from "../format/open-requests.ts";
import { leftOf } from "../prices/amounts.ts";
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
    const isNew = lanes !== null && this.#stuckSince === null;
    if (lanes === null) this.#stuckSince = null;
    else {
      const error = this.#stuckSince === null ? null : await this.#refused(lanes, this.#stuckSince);
      if (error !== null) {
        onStuck(error);
        return Number.POSITIVE_INFINITY;
      }
      this.#stuckSince ??= limits.look;
      runtime.sealing.wake();
    }
    // Looks again soon, because the sealer has just been woken.
    this.#lookMs = isNew ? FIRST_LOOK_MS : Math.min(2 * this.#lookMs, LAST_LOOK_MS);
    return runtime.clock.now() + this.#lookMs;
  }

  /** The error to end with, if all lanes were refused after that look, with no less than now. */
  async #refused(lanes: readonly string[], since: number): Promise<PriceLimitError | null> {
    const { store, limits } = this.#input.runtime;
    const stops = lanes.flatMap((lane) => limits.stops.get(lane) ?? []);
    if (stops.length < lanes.length || stops.some(({ look }) => look <= since)) return null;
    const rows = await store.payers([], [...new Set(stops.map(({ payer }) => payer.name))]);
    const left = new Map(rows.map((row) => [row.name, leftOf(row)]));
    if (stops.some(({ payer }) => leftOf(payer) < (left.get(payer.name) ?? 0))) {
      // Another batch has given money back since.
      this.#stuckSince = null;
      return null;
    }
    const [first] = rows;
    return first === undefined ? null : limits.errorOf(first);
  }

  /** The waiting lanes of the job; null if some request of it can run, or may be able to. */
  async #stoppedLanes(): Promise<readonly string[] | null> {
    const { runtime, job, produced } = this.#input;
    const { store, clock, limits } = runtime;
    if (!produced.isDone) return null;
    const open = await openLanes(runtime, job);
    const isOurs = ({ lane }: { readonly lane: string }): boolean => open.has(homeLane(lane));
    const batches = await store.batches({ states: [...LIVE, "quarantined"], limit: MOST_BATCHES });
    const live = batches.filter(({ state }) => state !== "quarantined");
    if (batches.length === MOST_BATCHES || live.some(isOurs)) return null;
    const waiting = (await store.probe(1, clock.now())).lanes.filter(isOurs);
    const seen = new Set([...waiting, ...batches.filter(isOurs)].map(({ lane }) => homeLane(lane)));
    if (waiting.length === 0 || seen.size < open.size) return null;
    const stops = waiting.flatMap(({ lane }) => limits.stops.get(lane) ?? []);
    if (stops.length < waiting.length) return null;
    // Answers of other batches of the same payer may release money. A quarantined one gives none.
    const names = new Set(stops.map(({ payer }) => payer.name));
    const mayRelease = live.some(({ lane }) => parseLane(lane).payers.some((name) => names.has(name)));
    return mayRelease ? null : waiting.map(({ lane }) => lane);
  }
}
