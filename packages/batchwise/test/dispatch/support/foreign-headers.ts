// Headers and requests as another implementation of fetch has them: no instances of the platform's
// classes, and nothing in fields.

export function foreign(headers: Headers): Headers {
  return {
    get: (name: string) => headers.get(name),
    [Symbol.toStringTag]: "Headers",
    [Symbol.iterator]: () => headers[Symbol.iterator](),
  } as unknown as Headers;
}

export function foreignRequest(request: Request): Request {
  const { url, method, headers, signal } = request;
  return {
    ...{ url, method, signal, headers: foreign(headers), body: {} },
    clone: () => ({ text: () => request.clone().text() }),
    [Symbol.toStringTag]: "Request",
  } as unknown as Request;
}
