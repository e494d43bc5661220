// Binds methods, so that they work without their object: `const { flush } = batcher`.

/** Binds every named method of an object to it. Call it in the constructor. */
export function bindMethods(object: object): void {
  const names = new Set<string>();
  let level = Object.getPrototypeOf(object) as object;
  while (level !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (name !== "constructor" && typeof value === "function") names.add(name);
    level = Object.getPrototypeOf(level) as object;
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
export function bindOnce<Bound extends object>(object: Bound, names: Iterable<string>): Bound {
  const members = object as Record<string, CallableFunction>;
  for (const name of names) members[name] = (members[name] as CallableFunction).bind(object);
  return object;
}
