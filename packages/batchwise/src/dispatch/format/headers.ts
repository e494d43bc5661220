// Headers, requests, answers, forms and DOMExceptions of any fetch: those of another realm, or of a
// client's own fetch, are no instances of the platform's classes. Pure.

/**
 * True for an instance of the platform's class, or an object with the tag that other
 * implementations set.
 */
function isA(name: "Headers" | "Request" | "Response" | "FormData" | "DOMException", value: unknown): boolean {
  return value instanceof globalThis[name] || Object.prototype.toString.call(value) === `[object ${name}]`;
}

export function isHeaders(value: unknown): value is Headers {
  return isA("Headers", value) && typeof (value as Partial<Headers>)[Symbol.iterator] === "function";
}

export function isFormData(value: unknown): value is FormData {
  return isA("FormData", value);
}

export function isRequest(value: unknown): value is Request {
  return isA("Request", value) && typeof (value as Partial<Request>).url === "string";
}

export function isResponse(value: unknown): value is Response {
  return isA("Response", value) && typeof (value as Partial<Response>).url === "string";
}

export function isDomException(value: unknown): value is DOMException {
  return isA("DOMException", value) && typeof (value as Partial<DOMException>).message === "string";
}

/** null for a header that is absent or empty, and if `headers` has no `get`. */
export function headerOf(headers: unknown, name: string): string | null {
  const { get } = Object(headers) as { readonly get?: unknown };
  const value: unknown = typeof get === "function" ? get.call(headers, name) : null;
  return typeof value === "string" && value !== "" ? value : null;
}
