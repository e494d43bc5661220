// Binds methods, so that they work without their object: `const { flush } = batcher`.

const methodsOf: WeakMap<object, readonly string[]> = new WeakMap();

/** Binds every named method of an object to it. Call it in the constructor. */
export function bindMethods(object: object): void {
  const prototype = Object.getPrototypeOf(object) as object;
  let names = methodsOf.get(prototype);
  if (names === undefined) {
    names = readMethods(prototype);
    methodsOf.set(prototype, names);
  }
  bindOnce(object, names);
}

/**
 * Makes the methods of a class work without their object, at no cost per object: a getter binds a
 * method each time it is read. Skips `others`, which `bindOnce` binds. Call it once for each class
 * of a chain.
 */
export function bindOnRead(prototype: object, others: readonly string[]): void {
  for (const [name, { value, enumerable = false }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (name === "constructor" || others.includes(name) || typeof value !== "function") continue;
    const method = value as CallableFunction;
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable,
      get(this: object): unknown {
        return method.bind(this);
      },
      set(this: object, own: unknown): void {
        Object.defineProperty(this, name, { configurable: true, enumerable: true, writable: true, value: own });
      },
    });
  }
}

/** Binds these methods of an object to it, and returns the object. */
export function bindOnce<Bound extends object>(object: Bound, names: readonly string[]): Bound {
  const members = object as Record<string, CallableFunction>;
  for (const name of names) members[name] = (members[name] as CallableFunction).bind(object);
  return object;
}

function readMethods(prototype: object): readonly string[] {
  const names = new Set<string>();
  for (let level = prototype; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (name !== "constructor" && typeof value === "function") names.add(name);
  }
  return [...names];
}
