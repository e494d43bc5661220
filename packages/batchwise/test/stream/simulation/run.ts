// Runs one world to its end and holds the streams to their promises.

import { batchStream } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { addsUp } from "../support.ts";
import { Caller } from "./caller.ts";
import { type Batch, SimulatedHandler } from "./handler.ts";
import { Violation, violations } from "./violation.ts";
import { type World, worldOf } from "./world.ts";

/** What a world was like, for a test that the worlds are not all of a kind. */
export interface Report {
  readonly batches: number;
  readonly fates: readonly string[];
  readonly aborted: number;
}

/** Throws the first violation, also one that was thrown into a stream. */
export async function runWorld(seed: number): Promise<Report> {
  violations.length = 0;
  const world = worldOf(seed);
  const clock = virtualClock();
  const handler = new SimulatedHandler(world, clock);
  const stream = batchStream<Caller, string>((callers, context) => handler.handle(callers, context), {
    ...world.options,
    clock,
  });
  const callers = world.callers.map((plan) => new Caller(plan, clock));
  for (const caller of callers) caller.start(stream);
  if (world.closesAt !== undefined) {
    clock.setTimeout(() => void stream.close({ drain: world.drains }), world.closesAt);
  }
  await clock.runAll(10_000);
  await leaveStuck(world, callers, clock.runAll.bind(clock));
  await check("close() did not resolve", stream.close(), clock.settle.bind(clock));
  if (violations[0] !== undefined) throw new Error(violations[0]);
  for (const caller of callers) caller.check();
  for (const batch of handler.batches) checkBatch(batch);
  if (!addsUp(stream)) throw new Violation(`the counters do not add up: ${JSON.stringify(stream.stats())}`);
  if (stream.inspect().length > 0) throw new Violation("a slot is taken at the end");
  if (clock.timers > 0) throw new Violation("a timer is left at the end");
  return {
    batches: handler.batches.length,
    fates: callers.map(({ state }) => state),
    aborted: handler.batches.filter(({ context }) => context.signal.aborted).length,
  };
}

/** Only those who never read may hold a batch for ever. They leave, one by one, and the rest must go on. */
async function leaveStuck(world: World, callers: readonly Caller[], runAll: () => Promise<void>): Promise<void> {
  const isHeld = callers.some(({ plan }) => plan.readMs === undefined);
  for (const caller of callers) {
    if (caller.state !== "open") continue;
    if (!isHeld) throw new Violation(`caller ${caller.plan.id} hangs in world ${world.seed}`);
    if (caller.plan.readMs !== undefined) continue;
    caller.leave();
    await runAll();
  }
}

async function check(what: string, promise: Promise<unknown>, settle: () => Promise<void>): Promise<void> {
  let isSettled = false;
  void promise.finally(() => {
    isSettled = true;
  });
  await settle();
  if (!isSettled) throw new Violation(what);
}

/** The signal aborts when all have gone, and never while somebody is there; the handler is stopped. */
function checkBatch({ callers, context, presentAtAbort, isRunning, hangs, abortedInCleanUp }: Batch): void {
  const { aborted } = context.signal;
  // Who left in the very moment of being answered may count as either.
  const mayHaveGone = callers.some((caller) => caller.isGone || caller.state === "left");
  if (callers.every((caller) => caller.isGone) && !aborted) throw new Violation("all left and nothing aborted");
  if (!mayHaveGone && aborted && !abortedInCleanUp) throw new Violation("nobody left and the signal aborted");
  const there = presentAtAbort?.find((caller) => !caller.isGone && caller.state !== "left");
  if (there !== undefined) throw new Violation(`the signal aborted while caller ${there.plan.id} was there`);
  if (isRunning && !hangs) throw new Violation("a handler was never stopped");
}
