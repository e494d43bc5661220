// Objects that no careful program would make, for the abuse tests.

const THEN: string = "then";

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void;

/** An object with a `then` of the test's own. */
export function thenable(then: Then): object {
  return Object.fromEntries([[THEN, then]]);
}

/** An object that is no promise, and tells when it is asked whether it is one. */
export function watched(asked: () => void): object {
  return Object.defineProperty({}, THEN, {
    get: () => {
      asked();
      return undefined;
    },
  });
}

/** An object whose property throws when it is read. */
export function unreadable(property: string = THEN, target: object = {}): object {
  return Object.defineProperty(target, property, {
    get: () => {
      throw new Error("read");
    },
  });
}

/** A proxy one of whose traps throws. */
export function trapped(trap: keyof ProxyHandler<object>, target: object): unknown {
  return new Proxy(target, {
    [trap]: () => {
      throw new Error(`trap ${trap}`);
    },
  });
}

/** A proxy that throws whatever is done to it. */
export function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}
