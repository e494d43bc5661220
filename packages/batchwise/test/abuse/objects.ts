// Malformed objects for the abuse tests.

const THEN: string = "then";

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void;

/** An object with the test's own `then`. */
export function thenable(then: Then): object {
  return Object.fromEntries([[THEN, then]]);
}

/** An object that is no promise and reports reads of its `then`. */
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

/** A proxy with one trap that throws. */
export function trapped(trap: keyof ProxyHandler<object>, target: object): unknown {
  return new Proxy(target, {
    [trap]: () => {
      throw new Error(`trap ${trap}`);
    },
  });
}

/** A proxy that throws at any access. */
export function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}
