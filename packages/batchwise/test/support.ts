// Shared by the behaviour tests: a batcher on a virtual clock with a handler that answers on the
// test's command, and ways to look at a promise without awaiting it.

import { type Batcher, type BatchOptions, createBatcher } from "batchwise";
import { type PuppetHandler, puppetHandler, type VirtualClock, virtualClock } from "batchwise/testing";

export interface Rig<Item, Result> {
  readonly clock: VirtualClock;
  readonly handler: PuppetHandler<Item, Result>;
  readonly batcher: Batcher<Item, Result>;
}

/** A batcher whose handler answers only when the test says so. */
export function rig<Item = string, Result = Item>(options: BatchOptions<Item, Result> = {}): Rig<Item, Result> {
  const clock = virtualClock();
  const handler = puppetHandler<Item, Result>();
  return { clock, handler, batcher: createBatcher(handler, { clock, ...options }) };
}

/** Runs what is due, answers every open call with its own items, and lets that take effect. */
export async function echo<Item>({ clock, handler }: Rig<Item, Item>): Promise<void> {
  await clock.settle();
  for (const call of handler.open) call.answer((item) => item);
  await clock.settle();
}

/** Answers all calls, including later ones, until none is running. */
export async function echoAll<Item>(of: Rig<Item, Item>): Promise<void> {
  await of.clock.settle();
  while (of.handler.open.length > 0) await echo(of);
}

export interface Fate<Value> {
  state: "pending" | "fulfilled" | "rejected";
  value?: Value;
  reason?: unknown;
}

/** The state of a promise so far. */
export function watch<Value>(promise: Promise<Value>): Fate<Value> {
  const fate: Fate<Value> = { state: "pending" };
  promise.then(
    (value) => Object.assign(fate, { state: "fulfilled", value }),
    (reason: unknown) => Object.assign(fate, { state: "rejected", reason }),
  );
  return fate;
}

/** The time that this process computes, in milliseconds, whatever other processes do meanwhile. */
export function computingMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The reason with which a promise rejects. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (reason) {
    return reason;
  }
  throw new Error("Expected a rejection.");
}

/** The error that a function throws. */
export function thrownBy(callback: () => unknown): unknown {
  try {
    callback();
  } catch (error) {
    return error;
  }
  throw new Error("Expected it to throw.");
}

/** The whole numbers from 0 up to, not including, `count`. */
export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** A promise that is settled from outside. */
export function gate(): { promise: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
