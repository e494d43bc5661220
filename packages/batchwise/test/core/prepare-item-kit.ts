// A batcher whose handler prepares items when the test lets it, and a check for unhandled
// rejections.

import { type Batcher, type BatchOptions, createBatcher } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

/**
 * Records unhandled rejections, and fails the test after which there are any. Returns those of the
 * test so far.
 */
export function watchUnhandled(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeAll(() => void process.on("unhandledRejection", note));
  afterAll(() => void process.off("unhandledRejection", note));
  afterEach(async () => {
    await new Promise(setImmediate);
    expect(unhandled.splice(0)).toEqual([]);
  });
  return unhandled;
}

export interface Subject {
  readonly clock: VirtualClock;
  readonly batcher: Batcher<string, string>;
  /** The batches of the handler. */
  readonly batches: string[][];
  /** Items whose preparation has begun. */
  readonly begun: string[];
  /** Ends the preparation of an item with this result. */
  ready(item: string, prepared?: string): Promise<void>;
  fail(item: string, error: unknown): Promise<void>;
}

/**
 * A batcher whose items are prepared when the test lets them; its handler answers in capital
 * letters.
 */
export function subject(options: BatchOptions<string, string> = {}): Subject {
  const clock = virtualClock();
  const batches: string[][] = [];
  const begun: string[] = [];
  const steps = new Map<string, { resolve(prepared: string): void; reject(error: unknown): void }>();
  const prepareItem = (item: string): Promise<string> => {
    begun.push(item);
    return new Promise((resolve, reject) => void steps.set(item, { resolve, reject }));
  };
  const run = (items: string[]): string[] => {
    batches.push([...items]);
    return items.map((item) => item.toUpperCase());
  };
  return {
    clock,
    batches,
    begun,
    batcher: createBatcher({ prepareItem, run }, { clock, ...options }),
    ready: async (item, prepared = item) => {
      steps.get(item)?.resolve(prepared);
      await clock.settle();
    },
    fail: async (item, error) => {
      steps.get(item)?.reject(error);
      await clock.settle();
    },
  };
}
