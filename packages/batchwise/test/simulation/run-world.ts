// Runs the world of one seed from its first event to its end, and returns the violations that the
// checks found. Needs no test runner.

import { type Clock, createBatcher, type Handler } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { checkEnd } from "./check-end.ts";
import { checkStandstill, type Scene } from "./check-rest.ts";
import { Driver } from "./driver.ts";
import { optionsOf } from "./functions.ts";
import { HandlerActor } from "./handler.ts";
import { Model, type Violation } from "./model.ts";
import { Random } from "./random.ts";
import type { Item } from "./schedule.ts";
import { StagedActor } from "./stages.ts";
import { worldOf } from "./world.ts";

/** After this many moments a world counts as endless. */
const MOST_MOMENTS = 5_000;

/** Runs one world. With `trace`, writes each step there as a line. */
export async function runWorld(seed: number, trace?: string[]): Promise<readonly Violation[]> {
  const clock = virtualClock();
  const world = worldOf(seed);
  const model = new Model(world, clock, trace);
  model.note(() => JSON.stringify({ ...world, events: world.events.length }));
  const onUnhandled = (reason: unknown): void => {
    model.unhandled.push(reason);
  };
  process.on("unhandledRejection", onUnhandled);
  try {
    await new Run(model, clock).toTheEnd();
  } catch (error) {
    model.violate("threw", error instanceof Error ? `${error.stack}` : String(error));
  }
  process.off("unhandledRejection", onUnhandled);
  return model.violations;
}

class Run {
  readonly #model: Model;
  readonly #clock: VirtualClock;
  readonly #actor: StagedActor;
  readonly #scene: Scene;
  readonly #driver: Driver;
  #moments = 0;

  constructor(model: Model, clock: VirtualClock) {
    this.#model = model;
    this.#clock = clock;
    const random = new Random(model.world.seed + 1_000_003);
    this.#actor = new StagedActor(model, random);
    const counting = new CountingClock(clock);
    const handler = handlerOf(this.#actor);
    const batcher = createBatcher<Item, unknown>(handler as never, optionsOf(model, random, counting));
    this.#driver = new Driver(model, batcher);
    this.#scene = { model, batcher, driver: this.#driver, timers: () => counting.timers };
    model.blocked = () => batcher.stats().blocked;
    listen(model, batcher);
  }

  async toTheEnd(): Promise<void> {
    const { events } = this.#model.world;
    for (const event of events)
      if (event.when === "early") this.#clock.setTimeout(() => void this.#driver.act(event.action), event.at);
    for (const event of events) {
      await this.#runUntil(event.at);
      if (event.when === "late") await this.#driver.act(event.action);
      if (event.when === "inside") this.#model.inside.push(() => this.#driver.act(event.action));
      if (event.when === "measuring") this.#model.measuring.push(() => this.#driver.act(event.action));
      await this.#stand();
      if (this.#model.violations.length > 0) return;
    }
    await this.#finish();
    if (this.#model.violations.length > 0) return;
    checkEnd({ ...this.#scene, openErrors: this.#actor.openErrors });
  }

  async #finish(): Promise<void> {
    const { ending } = this.#model.world;
    const driver = this.#driver;
    if (ending === "rest") {
      await driver.act({ kind: "resume" });
      await this.#runUntil(Number.POSITIVE_INFINITY);
    }
    driver.close(ending !== "abandon");
    await this.#stand();
    if (ending === "drain, then abandon") {
      await this.#runUntil(this.#clock.now() + 3);
      driver.close(false);
      await this.#stand();
    }
    await this.#runUntil(Number.POSITIVE_INFINITY);
    if (driver.isClosed) return;
    driver.close(false);
    await this.#runUntil(Number.POSITIVE_INFINITY);
  }

  /** Moves time from timer to timer up to a time, with checks at each. */
  async #runUntil(until: number): Promise<void> {
    await this.#stand();
    for (let next = this.#clock.nextAt; next <= until && next < Number.POSITIVE_INFINITY; next = this.#clock.nextAt) {
      await this.#clock.advance(next - this.#clock.now());
      await this.#stand();
      if (this.#model.violations.length > 0) return;
    }
    if (until < Number.POSITIVE_INFINITY) await this.#clock.advance(Math.max(0, until - this.#clock.now()));
  }

  async #stand(): Promise<void> {
    await this.#clock.settle();
    while (this.#clock.nextAt <= this.#clock.now()) await this.#clock.advance(0);
    this.#moments += 1;
    if (this.#moments > MOST_MOMENTS) throw new Error("the world does not come to rest");
    checkStandstill(this.#scene);
  }
}

function handlerOf(actor: StagedActor): unknown {
  if (actor.model.world.stages.isObject) return actor.object();
  return HandlerActor.prototype.handle.bind(actor) as Handler<Item, unknown>;
}

function listen(model: Model, batcher: Scene["batcher"]): void {
  const { listens, rudeListener } = model.world.uses;
  if (listens) {
    batcher.on("item", ({ outcome }) => {
      model.heard[outcome] += 1;
      if (model.callers.length % 2 === 0) model.actInside();
    });
  }
  batcher.on("batch", ({ id, size, reason, waitMs, runMs }) => {
    model.batchEnded(id, runMs);
    const batch = model.batches.get(id);
    if (batch === undefined) return;
    const isOwn = batch.size <= size && batch.reason === reason;
    model.expect(isOwn, "batch event", () => `${id} ${reason} of ${size}`);
    const isWait = model.world.stages.open || waitMs === batch.waitedMs;
    model.expect(isWait, "batch event", () => `${id} waited ${waitMs}, not ${batch.waitedMs}`);
  });
  if (!rudeListener) return;
  batcher.on("item", () => {
    throw new Error("an item listener threw");
  });
  batcher.on("batch", () => Promise.reject(new Error("a batch listener rejected")) as never);
  batcher.on("warning", () => {
    throw new Error("a warning listener threw");
  });
}

/** Counts the batcher's timers separately from those of its world. */
class CountingClock implements Clock {
  readonly #clock: VirtualClock;
  readonly #set: Set<object> = new Set();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get timers(): number {
    return this.#set.size;
  }

  now(): number {
    return this.#clock.now();
  }

  setTimeout(callback: () => void, delayMs: number): unknown {
    const timer = { handle: undefined as unknown };
    this.#set.add(timer);
    timer.handle = this.#clock.setTimeout(() => {
      this.#set.delete(timer);
      callback();
    }, delayMs);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#set.delete(timer as object);
    this.#clock.clearTimeout((timer as { handle: unknown }).handle);
  }
}
