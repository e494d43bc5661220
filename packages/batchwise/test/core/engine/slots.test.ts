import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveHandler, type Stages } from "../../../src/core/contract/handler.ts";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import { Slots } from "../../../src/core/engine/slots.ts";
import type { Batch } from "../../../src/core/run/batch.ts";

/** A batch for the slots, with its expected state. */
class Run {
  slotIndex = 0;
  holdsSlot = false;
  isResting = false;
  isQueued = false;

  grantSlot(): void {
    this.holdsSlot = true;
    this.isResting = false;
    this.isQueued = false;
  }
}

interface Shape {
  readonly concurrency: number;
  readonly prefetch: number;
  readonly prepares: boolean;
  readonly finishes: boolean;
}

function stagesOf({ prepares, finishes }: Shape): Stages {
  const same = (items: unknown): unknown => items;
  return resolveHandler({
    run: same,
    ...(prepares ? { prepare: same } : {}),
    ...(finishes ? { finish: same } : {}),
  });
}

class Model {
  readonly shape: Shape;
  readonly slots: Slots;
  runs: Run[] = [];
  /** Batches that wait for a slot, in order. */
  queued: Run[] = [];

  constructor(shape: Shape) {
    this.shape = shape;
    const { options } = PreparedOptions.of({ concurrency: shape.concurrency, prefetch: shape.prefetch });
    this.slots = new Slots({ options, stages: stagesOf(shape) });
  }

  #any(place: number, of: (run: Run) => boolean): Run | undefined {
    const some = this.runs.filter(of);
    return some[place % Math.max(1, some.length)];
  }

  start(): void {
    if (!this.slots.mayStart) return;
    const run = new Run();
    run.holdsSlot = this.slots.add(run as unknown as Batch);
    run.isQueued = !run.holdsSlot;
    if (run.isQueued) this.queued.push(run);
    this.runs.push(run);
  }

  end(place: number): void {
    const run = this.#any(place, () => true);
    if (run === undefined) return;
    this.slots.remove(run as unknown as Batch);
    this.runs = this.runs.filter((other) => other !== run);
    this.queued = this.queued.filter((other) => other !== run);
  }

  /** A batch that runs, is prepared ahead or finishes pauses before another call. */
  rest(place: number): void {
    const run = this.#any(place, ({ isResting }) => !isResting);
    if (run === undefined) return;
    run.isResting = true;
    run.isQueued = false;
    this.queued = this.queued.filter((other) => other !== run);
    this.slots.pause(run as unknown as Batch);
    expect(run.holdsSlot).toBe(false);
  }

  wake(place: number): void {
    const run = this.#any(place, ({ isResting, isQueued }) => isResting && !isQueued);
    if (run === undefined) return;
    run.isQueued = true;
    this.queued.push(run);
    this.slots.enqueue(run as unknown as Batch);
  }

  grant(): void {
    if (!this.slots.isFree) return;
    const next = this.queued.shift();
    this.slots.grant();
    if (next !== undefined) expect([next.holdsSlot, next.isResting]).toEqual([true, false]);
  }

  release(place: number): void {
    const run = this.#any(place, ({ holdsSlot }) => holdsSlot);
    if (run === undefined) return;
    run.holdsSlot = false;
    this.slots.release();
  }

  check(): void {
    const { concurrency, prefetch, prepares, finishes } = this.shape;
    const busy = this.runs.filter(({ holdsSlot }) => holdsSlot).length;
    const running = this.runs.filter(({ isResting }) => !isResting);
    expect(busy).toBeLessThanOrEqual(concurrency);
    expect(this.slots.isFree).toBe(busy < concurrency);
    expect(new Set(this.slots.running)).toEqual(new Set(running));
    expect(new Set(this.slots.pausing)).toEqual(new Set(this.runs.filter(({ isResting }) => isResting)));
    expect(this.slots.running.every(({ slotIndex }, index) => slotIndex === index)).toBe(true);
    expect(this.slots.next).toBe(this.queued[0]);
    const hasSlot = busy < concurrency && this.queued.length === 0;
    const isAhead = prepares && this.queued.length < prefetch;
    const stages = Number(prepares) + Number(finishes);
    const fits = running.length < concurrency + Math.max(1, prefetch * stages);
    expect(this.slots.mayStart).toBe(fits && (hasSlot || isAhead));
  }
}

const step = fc.record({
  do: fc.constantFrom("start", "start", "grant", "end", "rest", "wake", "release"),
  place: fc.nat(20),
});

describe("slots", () => {
  test("are held by at most `concurrency` batches, whatever these do, and go to waiting batches in order", () => {
    const shape = fc.record<Shape>({
      concurrency: fc.integer({ min: 1, max: 4 }),
      prefetch: fc.nat(3),
      prepares: fc.boolean(),
      finishes: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), shape, (steps, of) => {
        const model = new Model(of);
        for (const next of steps) {
          model[next.do](next.place);
          model.check();
        }
        while (model.runs.length > 0) model.end(0);
        model.check();
      }),
      { numRuns: 150, endOnFailure: true },
    );
  });
});
