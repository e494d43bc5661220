// Makes a function that is also a batcher. This is cheap: all functions share one prototype with
// the members, and each member is read from its batcher at first use; `const { submit } = batch(…)`
// works.

const CORE: unique symbol = Symbol("batcher");

interface OfCore {
  readonly [CORE]: object;
}

const prototypes: WeakMap<object, object> = new WeakMap();

/**
 * Adds every public member of a batcher to the function of this name in `calls`. A function made as
 * `{ [name]: … }` has its name; setting a name later costs 300 bytes.
 */
export function callable<Core extends object, Call extends object>(
  core: Core,
  name: string,
  calls: Readonly<Record<string, Call>>,
): Call & Core {
  const call = calls[name] as Call;
  const members = Object.getPrototypeOf(core) as object;
  let prototype = prototypes.get(members);
  if (prototype === undefined) {
    prototype = prototypeOf(members);
    prototypes.set(members, prototype);
  }
  Object.defineProperty(call, CORE, { value: core });
  return Object.setPrototypeOf(call, prototype) as Call & Core;
}

function prototypeOf(members: object): object {
  const prototype = Object.create(Function.prototype) as object;
  for (let level = members; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const name of Reflect.ownKeys(level)) {
      if (name === "constructor" || Object.hasOwn(prototype, name)) continue;
      const shown = { configurable: true, enumerable: typeof name === "string" };
      const get = function (this: OfCore): unknown {
        const core = this[CORE];
        const member: unknown = Reflect.get(core, name, core);
        if (typeof member !== "function") return member;
        const method = member as (...args: never[]) => unknown;
        const value = typeof name === "symbol" ? unbound(core, method) : method.bind(core);
        // A frozen function cannot keep the member: the getter makes it on each use.
        Reflect.defineProperty(this, name, { ...shown, value });
        return value;
      };
      Object.defineProperty(prototype, name, { ...shown, get });
    }
  }
  return prototype;
}

/** For Symbol.asyncDispose: V8 refuses a bound function at the end of an `await using` block. */
function unbound(core: object, member: (...args: never[]) => unknown): unknown {
  return (...args: never[]) => Reflect.apply(member, core, args);
}
