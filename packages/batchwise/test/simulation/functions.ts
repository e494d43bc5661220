// The functions of a world's user besides the handler: correct for most items, wrong for items with
// a fault. The cache misses, hits, throws, rejects and takes time.

import { type BatchCache, type BatchOptions, type Clock, rateLimiter } from "batchwise";
import type { Model } from "./model.ts";
import type { Random } from "./random.ts";
import type { Place } from "./record.ts";
import type { Fault, Item } from "./schedule.ts";

/** The handler's input: the item, or the result of `prepareItem`. */
export type Given = Item | { readonly prepared: Item };

export function itemOf(given: Given): Item {
  return "prepared" in given ? given.prepared : given;
}

export function prepareItem(item: Item): Given {
  failIf(item, "prepareItem");
  return { prepared: item };
}

/** Throws the item's fault in this function; returns its wrong value as `{ returned }`. */
function failIf(item: Item, where: Fault["where"]): { readonly returned: unknown } | undefined {
  const { fault } = item;
  if (fault?.where !== where) return undefined;
  if (fault.thrown !== undefined) throw fault.thrown;
  return { returned: fault.returned };
}

/** The item's wrong value in this function, or the right value. Breaks the types on purpose. */
function valueOr<Value>(item: Item, where: Fault["where"], right: Value): Value {
  const fault = failIf(item, where);
  return fault === undefined ? right : (fault.returned as Value);
}

/** All options of a world, except the clock's. */
export function optionsOf(model: Model, random: Random, clock: Clock): BatchOptions<Item, unknown> {
  const { uses, limits } = model.world;
  return {
    ...limits,
    clock,
    random: () => random.next(),
    oversize: uses.oversize,
    onFull: uses.onFull,
    order: uses.order,
    batchCost: uses.batchCost === "function" ? (items: readonly Item[]) => measure(model, items) : uses.batchCost,
    cost: uses.cost ? (item: Item) => valueOr(item, "cost", item.cost) : undefined,
    key: uses.keys > 0 && !uses.isPlain ? (item: Item) => valueOr(item, "key", item.key) : undefined,
    fairBy: uses.tenants > 0 ? (item: Item) => valueOr(item, "fairBy", item.tenant) : undefined,
    dedupe: uses.equals > 0 ? (item: Item) => equalOf(model, item) : undefined,
    cache: uses.cache === "none" ? undefined : cacheOf(model, random),
    captureContext: uses.captureContext ? () => capture(model) : undefined,
    priorityAgingMs: uses.priorityAgingMs,
    smallCallFirst: uses.smallCallFirst,
    prefetch: uses.prefetch,
    limiter: uses.limiter && rateLimiter({ ...uses.limiter, clock: model.clock }),
    timeoutMs: uses.timeoutMs,
    handlerTimeoutMs: uses.handlerTimeoutMs,
    isolateFailures: uses.isolateFailures,
    retry: uses.retry && {
      attempts: uses.retry.attempts,
      backoffMs: uses.retry.backoffMs,
      when: () => worthIt(random, uses.retry?.rude === true),
    },
  };
}

function equalOf(model: Model, item: Item): string {
  model.arrives(item);
  return valueOr(item, "dedupe", item.equal);
}

function measure(model: Model, given: readonly Given[]): number {
  model.actMeasuring();
  const items = given.map(itemOf);
  for (const item of items) {
    const fault = failIf(item, "batchCost");
    if (fault !== undefined) return fault.returned as number;
  }
  const costs = items.map((item) => item.cost);
  return costs.reduce((total, cost) => total + cost, 0) + Math.max(...costs);
}

function capture(model: Model): string {
  const item = model.current?.plan.item;
  if (item === undefined) throw new Error("captureContext was called outside a submit");
  failIf(item, "captureContext");
  return `captured ${item.id}`;
}

function worthIt(random: Random, isRude: boolean): boolean {
  if (isRude && random.chance(0.5)) throw new Error("retry.when threw");
  return random.chance(0.9);
}

function cacheOf(model: Model, random: Random): BatchCache<unknown> {
  let hits = 0;
  const look = (key: string): unknown => {
    if (random.chance(0.1)) throw new Error("cache.get threw");
    hits += 1;
    return random.chance(0.25) ? `cached ${key} ${hits}` : undefined;
  };
  return {
    get: (key) => {
      const place = model.current?.place;
      if (place === undefined || place.cacheKey !== key) throw new Error(`cache.get was called for ${key}`);
      if (model.world.uses.cache === "sync") return answerFrom(model, place, () => look(key));
      place.state = "lookup";
      return later(model, random.integer(0, 6)).then(() => answerFrom(model, place, () => look(key)));
    },
    set: (key, result) => {
      const isKnown = [...model.placesByItem.values()].some(
        (place) => place.cacheKey === key && place.answer?.is === result && !place.isForgotten,
      );
      model.expect(isKnown, "cache", () => `${String(result)} was stored under ${key}`);
      if (random.chance(0.1)) throw new Error("cache.set threw");
      return random.chance(0.1) ? Promise.reject(new Error("cache.set rejected")) : undefined;
    },
    delete: (key) => {
      model.deleted.push(key);
    },
  };
}

/** Records in the model the answer that the cache is about to give. */
function answerFrom(model: Model, place: Place, look: () => unknown): unknown {
  const wasLookup = place.state === "lookup";
  if (!wasLookup && model.world.uses.cache === "async") return look();
  try {
    const value = look();
    if (value !== undefined) {
      place.state = "answered";
      place.answer = { at: model.now, isOk: true, isWhole: false, is: value };
    } else if (wasLookup) model.entered(place);
    return value;
  } catch (error) {
    if (wasLookup) model.entered(place);
    throw error;
  }
}

/** A pause of virtual time; a pause of 0 is one promise job. */
export function later(model: Model, ms: number): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return new Promise((resolve) => {
    model.clock.setTimeout(resolve, ms);
  });
}
