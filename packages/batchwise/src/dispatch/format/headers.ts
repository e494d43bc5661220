// Headers, requests and answers of any fetch: those of another realm, or of a client's own fetch,
// are no instances of the platform's classes. Pure.

/** By the name that every implementation gives its class; reads no other field. */
function isA(name: "Headers" | "Request" | "Response", value: unknown): boolean {
  return Object.prototype.toString.call(value) === `[object ${name}]`;
}

export function isHeaders(value: unknown): value is Headers {
  return isA("Headers", value);
}

export function isRequestOrResponse(value: unknown): value is Request | Response {
  return isA("Request", value) || isA("Response", value);
}

/** null for a header that is absent or empty, and if `headers` has no `get`. */
export function headerOf(headers: unknown, name: string): string | null {
  const { get } = Object(headers) as { readonly get?: unknown };
  const value: unknown = typeof get === "function" ? get.call(headers, name) : null;
  return typeof value === "string" && value !== "" ? value : null;
}
