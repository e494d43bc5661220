// Keeps the batchers of an object: one per decorated method, for an instance, or for a class with
// static methods. A Proxy of an instance, and an object that inherits from one, share the
// instance's batchers; a subclass has its own. Only the object itself holds its batchers.

import type { Batcher } from "../core/contract/types.ts";

type AnyBatcher = Batcher<unknown, unknown>;

/** A decorated method, once for all objects. */
export interface DecoratedMethod {
  readonly name: string | symbol;
  /** Makes the batcher that calls the method on `owner`. */
  makeBatcher(owner: object): AnyBatcher;
}

interface Entry {
  readonly method: DecoratedMethod;
  batcher: AnyBatcher | undefined;
}

/** Not a registered symbol: two copies of the package must not read each other's property. */
const BATCHERS = Symbol("batchwise.batchers");

/** For objects that cannot be extended. */
const unextendable = new WeakMap<object, ObjectBatchers>();

/**
 * Set by the property's function. Not returned, because some proxies wrap the return values of
 * functions.
 */
let lastRead: ObjectBatchers | undefined;

export class ObjectBatchers {
  readonly #owner: object;
  /** In order of decoration: a subclass's entry follows its base's. */
  readonly #entries: Entry[];

  private constructor(owner: object, inherited: readonly Entry[]) {
    this.#owner = owner;
    this.#entries = inherited.map(({ method }) => ({ method, batcher: undefined }));
  }

  /**
   * Adds a newly decorated method. `owner` is an instance, a class, or a class's prototype;
   * instances of that class make their batchers when they need them.
   */
  static add(owner: object, method: DecoratedMethod): ObjectBatchers {
    const batchers = ownedBy(owner) ?? ObjectBatchers.#create(owner, readFrom(owner));
    batchers.#entries.push({ method, batcher: undefined });
    return batchers;
  }

  /**
   * The batchers for a call on `receiver`; undefined if the object's class has no decorated
   * methods.
   */
  static of(receiver: unknown): ObjectBatchers | undefined {
    if (!isObject(receiver)) return undefined;
    const nearest = readFrom(receiver);
    if (nearest?.isOf(receiver)) return nearest;
    const owner = ownerOf(receiver);
    if (isPrototypeOfClass(owner)) return undefined;
    return unextendable.get(owner) ?? (nearest && ObjectBatchers.#create(owner, nearest));
  }

  static #create(owner: object, inherited: ObjectBatchers | undefined): ObjectBatchers {
    const batchers = new ObjectBatchers(owner, inherited === undefined ? [] : inherited.#entries);
    const value = (): void => {
      lastRead = batchers;
    };
    Reflect.defineProperty(owner, BATCHERS, { value, configurable: true });
    if (readFrom(owner) !== batchers) unextendable.set(owner, batchers);
    return batchers;
  }

  /** True if these are the receiver's own batchers, not those of its class or base. */
  isOf(receiver: object): boolean {
    if (typeof receiver === "function") return Object.hasOwn(receiver, BATCHERS);
    return !isPrototypeOfClass(this.#owner);
  }

  /** The batcher of a method; makes it if there is none yet. */
  get(method: DecoratedMethod): AnyBatcher | undefined {
    return this.#batcherOf(this.#entries.find((entry) => entry.method === method));
  }

  /** The batcher of the method of that name; if it is overridden, the override's. */
  named(name: string | symbol): AnyBatcher | undefined {
    return this.#batcherOf(this.#entries.findLast(({ method }) => method.name === name));
  }

  #batcherOf(entry: Entry | undefined): AnyBatcher | undefined {
    if (entry === undefined) return undefined;
    entry.batcher ??= entry.method.makeBatcher(this.#owner);
    return entry.batcher;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Reads the property like any other: through proxies and prototypes. */
function readFrom(object: object): ObjectBatchers | undefined {
  lastRead = undefined;
  (object as { [BATCHERS]?: () => void })[BATCHERS]?.();
  const found = lastRead;
  lastRead = undefined;
  return found;
}

function ownedBy(object: object): ObjectBatchers | undefined {
  return Object.hasOwn(object, BATCHERS) ? readFrom(object) : unextendable.get(object);
}

/** The instance that an object is or inherits from. A class owns itself. */
function ownerOf(object: object): object {
  if (typeof object === "function") return object;
  let owner = object;
  for (;;) {
    const next: object | null = Object.getPrototypeOf(owner);
    if (next === null || isPrototypeOfClass(next)) return owner;
    owner = next;
  }
}

function isPrototypeOfClass(object: object): boolean {
  if (!Object.hasOwn(object, "constructor")) return false;
  const made: unknown = object.constructor;
  return typeof made === "function" && made.prototype === object;
}
