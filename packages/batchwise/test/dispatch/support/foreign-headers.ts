// Headers as another implementation of fetch has them: no instance of the platform's class, and
// nothing in fields.

export function foreign(headers: Headers): Headers {
  return {
    get: (name: string) => headers.get(name),
    [Symbol.toStringTag]: "Headers",
    [Symbol.iterator]: () => headers[Symbol.iterator](),
  } as unknown as Headers;
}
