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
  const members = object as Record<string, CallableFunction>;
  for (const name of names) members[name] = (members[name] as CallableFunction).bind(object);
}

/**
 * Makes the methods of a class work without their object: a getter binds a method each time it is
 * read, and the methods in `hot` only once. Call it once for each class of a chain.
 */
export function bindOnRead(prototype: object, hot: readonly string[]): void {
  for (const [name, { value, enumerable = false }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (name === "constructor" || typeof value !== "function") continue;
    const method = value as CallableFunction;
    const isHot = hot.includes(name);
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable,
      get(this: object): unknown {
        const bound: unknown = method.bind(this);
        // An object of a class that overrides it reads it by `super`.
        if (isHot && ownerOf(this, name) === prototype) Reflect.defineProperty(this, name, own(bound));
        return bound;
      },
      set(this: object, given: unknown): void {
        Object.defineProperty(this, name, own(given));
      },
    });
  }
}

function own(value: unknown): PropertyDescriptor {
  return { configurable: true, enumerable: true, writable: true, value };
}

/** The object of a chain that has a member. */
function ownerOf(object: object, name: string): object {
  return Object.hasOwn(object, name) ? object : ownerOf(Object.getPrototypeOf(object) as object, name);
}

function readMethods(prototype: object): readonly string[] {
  const names = new Set<string>();
  for (let level = prototype; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (name !== "constructor" && typeof value === "function") names.add(name);
  }
  return [...names];
}
