// Runs one world to its end and checks the promises of streams.

import { batchStream } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { addsUp } from "../support.ts";
import { Caller } from "./caller.ts";
import { type Batch, SimulatedHandler } from "./handler.ts";
import { Violation, violations } from "./violation.ts";
import { WARN_AFTER_MS, WarningTimers } from "./warning-timers.ts";
import { type World, worldOf } from "./world.ts";

/** Properties of a world, for a test that worlds differ. */
export interface Report {
  readonly batches: number;
  readonly fates: readonly string[];
  readonly aborted: number;
  readonly warnings: number;
  /** Number of callers who were ended because others waited for them. */
  readonly stalled: number;
  /** Number of callers who read after another, and got buffered chunks. */
  readonly inSequence: number;
}

/** Throws the first violation, also one that was thrown into a stream. */
export async function runWorld(seed: number): Promise<Report> {
  violations.length = 0;
  const world = worldOf(seed);
  const clock = virtualClock();
  const timers = new WarningTimers(clock);
  const handler = new SimulatedHandler(world, timers);
  const stream = batchStream<Caller, string>((callers, context) => handler.handle(callers, context), {
    ...world.options,
    clock: timers,
  });
  const warnings: string[] = [];
  stream.on("warning", ({ code, message }) => warnings.push(`${code}: ${message}`));
  const callers = world.callers.map((plan) => new Caller(plan, clock));
  for (const caller of callers) caller.start(stream, callers);
  if (world.closesAt !== undefined) {
    clock.setTimeout(() => void stream.close({ drain: world.drains }), world.closesAt);
  }
  await clock.runAll(10_000);
  const { maxStallMs } = world.options;
  await clock.advance(2 * (WARN_AFTER_MS + (maxStallMs === Number.POSITIVE_INFINITY ? 0 : maxStallMs)));
  checkStuck(world, callers, handler);
  await leaveStuck(callers, clock.runAll.bind(clock));
  await check("close() did not resolve", stream.close(), clock.settle.bind(clock));
  if (violations[0] !== undefined) throw new Error(violations[0]);
  for (const caller of callers) caller.check();
  for (const batch of handler.batches) {
    checkBatch(batch);
    checkWarnings(batch, warnings, Math.min(WARN_AFTER_MS, maxStallMs));
  }
  if (!addsUp(stream)) throw new Violation(`the counters do not add up: ${JSON.stringify(stream.stats())}`);
  if (stream.inspect().length > 0) throw new Violation("a slot is taken at the end");
  if (clock.timers > 0) throw new Violation("a timer is left at the end");
  return {
    batches: handler.batches.length,
    fates: callers.map(({ state }) => state),
    aborted: handler.batches.filter(({ context }) => context.signal.aborted).length,
    warnings: warnings.length,
    stalled: callers.filter(({ verdict }) => verdict === "STREAM_STALLED").length,
    inSequence: callers.filter(({ plan, isReading, given }) => plan.readsAfter !== undefined && isReading && given > 0)
      .length,
  };
}

/** At rest, a batch runs only if a caller holds it, and a stream is open only for a reason. */
function checkStuck({ seed, options }: World, callers: readonly Caller[], handler: SimulatedHandler): void {
  const running = handler.batches.filter(({ isRunning, hangs }) => isRunning && !hangs);
  if (!running.every((batch) => handler.isHeld(batch)))
    throw new Violation("a batch stands still and nobody is behind");
  for (const { state, isReading, batch, plan } of callers) {
    if (state !== "open" || !isReading) continue;
    const isWaiting = batch === undefined ? running.length > 0 : running.includes(batch);
    if (!isWaiting) throw new Violation(`caller ${plan.id} hangs in world ${seed}`);
    const isHeld = isWaiting && running.length >= (batch === undefined ? options.concurrency : 1);
    if (isHeld && options.maxStallMs < Number.POSITIVE_INFINITY) throw new Violation(`caller ${plan.id} waits on`);
  }
}

/** Callers who do not read leave one by one, and the rest must continue. */
async function leaveStuck(callers: readonly Caller[], runAll: () => Promise<void>): Promise<void> {
  for (const caller of callers) {
    if (caller.state !== "open" || caller.isReading) continue;
    caller.leave();
    await runAll();
  }
}

/** A batch that waited longer than this for its readers has warned once; no other batch has. */
function checkWarnings({ context, longestWaitMs }: Batch, warnings: readonly string[], afterMs: number): void {
  const count = warnings.filter((warning) => warning.startsWith(`STREAM_BLOCKED: Batch ${context.id} `)).length;
  const isRight = longestWaitMs === afterMs ? count <= 1 : count === Number(longestWaitMs > afterMs);
  if (!isRight) throw new Violation(`${count} warnings of a batch that waited ${longestWaitMs} ms`);
}

async function check(what: string, promise: Promise<unknown>, settle: () => Promise<void>): Promise<void> {
  let isSettled = false;
  void promise.finally(() => {
    isSettled = true;
  });
  await settle();
  if (!isSettled) throw new Violation(what);
}

/** The signal aborts when all callers have gone, and never before; the handler is stopped. */
function checkBatch({ callers, context, presentAtAbort, isRunning, hangs, abortedInCleanUp }: Batch): void {
  const { aborted } = context.signal;
  // A caller who left at the moment of its answer may count as either.
  const mayHaveGone = callers.some((caller) => caller.isGone || caller.state === "left");
  if (callers.every((caller) => caller.isGone) && !aborted) throw new Violation("all left and nothing aborted");
  if (!mayHaveGone && aborted && !abortedInCleanUp) throw new Violation("nobody left and the signal aborted");
  const there = presentAtAbort?.find((caller) => !caller.isGone && caller.state !== "left");
  if (there !== undefined) throw new Violation(`the signal aborted while caller ${there.plan.id} was there`);
  if (isRunning && !hangs) throw new Violation("a handler was never stopped");
}
