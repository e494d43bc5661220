// The events of a world and their times: submits of all kinds, callers who leave, every control.
// Events are plain data, so that a failing world can be printed.

import type { Random } from "./random.ts";
import type { Habits, Limits, StageHabits, Uses } from "./world.ts";

/** A user function that fails for one item: it throws, or returns a wrong value. */
export interface Fault {
  readonly where: "cost" | "key" | "fairBy" | "dedupe" | "captureContext" | "prepareItem" | "batchCost";
  readonly thrown: Error | undefined;
  readonly returned: unknown;
}

export interface Item {
  readonly id: number;
  readonly key: string;
  readonly tenant: string;
  readonly cost: number;
  /** The same for items that are equal to each other. */
  readonly equal: string;
  readonly isPoison: boolean;
  readonly fault: Fault | undefined;
}

/**
 * The options of an item's submit. `signal`: its own, or the number of one of the world's shared
 * signals.
 */
interface Wishes {
  readonly priority?: number;
  readonly cost?: number;
  readonly key?: string;
  readonly timeoutMs?: number;
  readonly context?: string;
  readonly signal?: "own" | number;
}

export interface Plan {
  readonly item: Item;
  readonly wishes: Wishes;
}

export type Action =
  | { readonly kind: "submit"; readonly plans: readonly Plan[]; readonly isSpread: boolean }
  | { readonly kind: "submitMany" | "submitSettled"; readonly plans: readonly Plan[] }
  | { readonly kind: "abort"; readonly draw: number; readonly isShared: boolean }
  | { readonly kind: "configure"; readonly changes: Partial<Limits> }
  | { readonly kind: "close"; readonly drain: boolean }
  | { readonly kind: "flush"; readonly key: string | undefined }
  | { readonly kind: "forget"; readonly equal: string; readonly key: string | undefined }
  | { readonly kind: "pause" | "resume" | "ready" | "look" | "idle" | "resetStats" };

export interface Event {
  readonly at: number;
  /**
   * When at this time: in a timer before the batcher's or after them; inside the batcher's next
   * call of the handler or a listener; or inside its next call of `batchCost`.
   */
  readonly when: "early" | "late" | "inside" | "measuring";
  readonly action: Action;
}

interface Setting {
  readonly uses: Uses;
  readonly habits: Habits;
  readonly stages: StageHabits;
}

export const SHARED_SIGNALS = 3;

export function scheduleOf(random: Random, setting: Setting): Event[] {
  const drafts = new Draft(random, setting);
  const horizonMs = random.pick([20, 100, 300]);
  const count = random.integer(6, 36);
  const times = Array.from({ length: count }, () => random.integer(0, horizonMs)).sort((a, b) => a - b);
  const { equals, meddles } = setting.uses;
  const inside = random.chance(0.3) && equals === 0 && !meddles ? 0.2 : 0;
  return times.map((at) => {
    if (meddles && random.chance(0.4)) {
      return { at, when: "measuring", action: drafts.whileMeasuring() };
    }
    const when = random.chance(inside) ? "inside" : random.pick(["early", "late"] as const);
    return { at, when, action: drafts.action() };
  });
}

class Draft {
  readonly #random: Random;
  readonly #setting: Setting;
  readonly #burst: number;
  /** True if this world is often paused and flushed. */
  readonly #isStopAndGo: boolean;
  #ids = 0;

  constructor(random: Random, setting: Setting) {
    this.#random = random;
    this.#setting = setting;
    this.#burst = random.pick([2, 6, 20]);
    this.#isStopAndGo = random.chance(0.25);
  }

  action(): Action {
    const random = this.#random;
    if (this.#isStopAndGo && random.chance(0.4)) {
      if (random.chance(0.4)) return this.#flush();
      return { kind: random.pick(["pause", "pause", "resume"] as const) };
    }
    if (this.#setting.uses.cache !== "none" && random.chance(0.1)) return this.#forget();
    const draw = random.next();
    if (draw < 0.3) return { kind: "submit", plans: this.#plans(1), isSpread: false };
    if (draw < 0.55) {
      const isSpread = random.chance(0.3) && this.#setting.uses.equals === 0;
      return { kind: "submit", plans: this.#plans(random.integer(1, this.#burst)), isSpread };
    }
    if (draw < 0.65) return this.#callOfMany();
    if (draw < 0.77) return { kind: "abort", draw: random.next(), isShared: random.chance(0.3) };
    if (draw < 0.83) return { kind: "configure", changes: this.#changes() };
    if (draw < 0.86) return { kind: "pause" };
    if (draw < 0.9) return { kind: "resume" };
    if (draw < 0.94) return this.#flush();
    if (draw < 0.96) return { kind: random.pick(["ready", "idle"] as const) };
    if (draw < 0.992) return this.#smallThing();
    return { kind: "close", drain: random.chance(0.6) };
  }

  /** Forbidden actions of a cost function, which should only measure. */
  whileMeasuring(): Action {
    const random = this.#random;
    const draw = random.next();
    const plans = this.#plans(random.integer(1, 3)).map(({ item, wishes }) => ({
      item,
      wishes: { ...wishes, priority: 9 },
    }));
    if (draw < 0.6) return { kind: "submit", plans, isSpread: false };
    if (draw < 0.85) return { kind: "abort", draw: random.next(), isShared: random.chance(0.3) };
    return { kind: random.pick(["pause", "resume"] as const) };
  }

  #flush(): Action {
    return { kind: "flush", key: this.#random.maybe(0.3, () => this.#key()) };
  }

  #smallThing(): Action {
    const random = this.#random;
    const isLook = this.#setting.uses.equals === 0 || random.chance(0.4);
    return isLook ? { kind: random.pick(["look", "resetStats"] as const) } : this.#forget();
  }

  #forget(): Action {
    return { kind: "forget", equal: this.#equal(), key: this.#setting.uses.keys > 0 ? this.#key() : undefined };
  }

  #key(): string {
    return `k${this.#random.integer(1, Math.max(1, this.#setting.uses.keys))}`;
  }

  #equal(): string {
    return `e${this.#random.integer(1, Math.max(1, this.#setting.uses.equals))}`;
  }

  /**
   * A call of many hides when each of its items settles, so it is left out if the model needs to
   * know that.
   */
  #callOfMany(): Action {
    const { uses, stages } = this.#setting;
    const count = this.#random.integer(1, this.#burst);
    if (uses.onFull === "reject" && uses.equals === 0) {
      return { kind: "submitSettled", plans: this.#call(3 * count) };
    }
    const isHidden = uses.onFull !== "wait" || uses.equals > 0 || stages.open;
    if (isHidden) return { kind: "submit", plans: this.#plans(count), isSpread: false };
    return { kind: this.#random.pick(["submitMany", "submitSettled"]), plans: this.#call(count) };
  }

  #plans(count: number): Plan[] {
    return Array.from({ length: count }, () => ({ item: this.#item(), wishes: this.#wishes() }));
  }

  #call(count: number): Plan[] {
    const wishes = { ...this.#wishes(), ...(this.#setting.uses.captureContext ? { context: "of a call" } : {}) };
    return Array.from({ length: count }, () => ({ item: this.#item(), wishes }));
  }

  #item(): Item {
    const random = this.#random;
    const { uses, habits } = this.#setting;
    this.#ids += 1;
    return {
      id: this.#ids,
      key: this.#key(),
      tenant: `t${random.chance(0.6) ? 1 : random.integer(1, Math.max(1, uses.tenants))}`,
      cost: random.chance(0.1) ? random.pick([0, 0.25, 15, 50]) : random.integer(1, 6),
      equal: this.#equal(),
      isPoison: random.chance(habits.poison),
      fault: random.maybe(habits.fault, () => this.#fault()),
    };
  }

  #fault(): Fault {
    const random = this.#random;
    const { uses } = this.#setting;
    const where = random.pick<Fault["where"]>([
      "cost",
      "key",
      "fairBy",
      "dedupe",
      "captureContext",
      "prepareItem",
      "batchCost",
    ]);
    const thrown = random.maybe(0.5, () => new Error(`${where} threw for item ${this.#ids}`));
    const numbers = [Number.NaN, -1, "3", 5n, null, undefined, {}] as const;
    const isNumber = where === "cost" || where === "batchCost";
    const returned = isNumber ? random.pick<unknown>(numbers) : random.pick<unknown>([undefined, null, 7, {}]);
    const canOnlyThrow = where === "captureContext" || where === "prepareItem";
    const always = thrown ?? new Error(`${where} threw for item ${this.#ids}, using ${uses.onFull}`);
    return { where, thrown: canOnlyThrow ? always : thrown, returned };
  }

  #wishes(): Wishes {
    const random = this.#random;
    const { uses } = this.#setting;
    if (uses.isPlain && random.chance(0.6)) return {};
    const priority = random.pick(uses.priorities);
    const signal = random.chance(0.3)
      ? random.chance(0.5)
        ? "own"
        : random.integer(0, SHARED_SIGNALS - 1)
      : undefined;
    return {
      ...(priority === 0 ? {} : { priority }),
      ...(random.chance(0.1) ? { cost: random.integer(0, 6) } : {}),
      ...(uses.keys > 0 && random.chance(uses.isPlain ? 0.4 : 0.1) ? { key: `k${random.integer(1, uses.keys)}` } : {}),
      ...(random.chance(0.15) ? { timeoutMs: random.integer(0, 60) } : {}),
      ...(random.chance(0.1) ? { context: `context ${this.#ids}` } : {}),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  #changes(): Partial<Limits> {
    const random = this.#random;
    return {
      ...(random.chance(0.4) ? { maxBatchSize: random.integer(1, 12) } : {}),
      ...(random.chance(0.3) ? { maxBatchCost: random.pick([3, 10, 30, Number.POSITIVE_INFINITY]) } : {}),
      ...(random.chance(0.4) ? { maxWaitMs: random.pick([0, 3, 20, 80]) } : {}),
      ...(random.chance(0.2) ? { preferredBatchSize: random.integer(1, 8) } : {}),
      ...(random.chance(0.3) ? { concurrency: random.integer(1, 4) } : {}),
      ...(random.chance(0.2) ? { maxQueueSize: random.pick([1, 4, 10, 100]) } : {}),
    };
  }
}
