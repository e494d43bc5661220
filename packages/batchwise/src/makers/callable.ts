// A function that is a batcher as well. Making one costs next to nothing: the members are those of
// one prototype, and each is taken from its batcher when it is first asked for; `const { submit } =
// batch(…)` works.

const CORE: unique symbol = Symbol("batcher");

interface OfCore {
  readonly [CORE]: object;
}

const prototypes: WeakMap<object, object> = new WeakMap();

/** Puts every public member of a batcher, and its name, on a function. */
export function callable<Core extends object, Call extends object>(core: Core, call: Call, name: string): Call & Core {
  const members = Object.getPrototypeOf(core) as object;
  let prototype = prototypes.get(members);
  if (prototype === undefined) {
    prototype = prototypeOf(members);
    prototypes.set(members, prototype);
  }
  Object.defineProperty(call, CORE, { value: core });
  Object.defineProperty(call, "name", { value: name, configurable: true });
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
        // Those with a name are bound (`bindMethods`).
        const value = typeof name === "symbol" ? unbound(core, member as (...args: never[]) => unknown) : member;
        // A frozen function cannot keep the member: the getter makes it anew.
        Reflect.defineProperty(this, name, { ...shown, value });
        return value;
      };
      Object.defineProperty(prototype, name, { ...shown, get });
    }
  }
  return prototype;
}

/** For Symbol.asyncDispose: V8 refuses a bound function as the end of an `await using` block. */
function unbound(core: object, member: (...args: never[]) => unknown): unknown {
  return (...args: never[]) => Reflect.apply(member, core, args);
}
