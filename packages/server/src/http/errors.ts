/**
 * Errors in the form that OpenAI's clients read: `{ error: { message, type, param, code } }`.
 *
 * Guarantees: every failure has one status and one code. A failure that the same request would get
 * again has `x-should-retry: false`, so that clients do not repeat it. Contains no stack traces or
 * file paths.
 */

import { maxHeaderSize } from "node:http";

export interface ApiErrorOptions {
  readonly param?: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class ApiError extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, options: ApiErrorOptions = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.param = options.param ?? null;
    this.code = options.code ?? null;
    this.headers = options.headers ?? {};
  }

  get type(): string {
    if (this.status === 429) return "rate_limit_error";
    return this.status >= 500 ? "server_error" : "invalid_request_error";
  }

  /** The JSON of the answer. */
  get body(): string {
    const { message, type, param, code } = this;
    return JSON.stringify({ error: { message, type, param, code } });
  }

  toResponse(): Response {
    const { status, body } = this;
    return new Response(body, { status, headers: { "content-type": "application/json", ...this.headers } });
  }
}

const NOT_AGAIN = { "x-should-retry": "false" } as const;

/** 400: the same request would be refused again. */
export function invalidRequest(message: string, param?: string, code?: string): ApiError {
  return new ApiError(400, message, {
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
    headers: NOT_AGAIN,
  });
}

/** A caller that closes its side looks the same as one that has left. */
export function halfClosed(): ApiError {
  const message = "The connection was closed on your side before the answer: keep it open until the answer has come.";
  return invalidRequest(message, undefined, "connection_half_closed");
}

/** 400: the request is not HTTP, or its host and path do not form an address. */
export function malformedRequest(reason: string): ApiError {
  const message = `Expected a request of HTTP/1.1 with a valid host and path: ${reason}.`;
  return invalidRequest(message, undefined, "malformed_request");
}

export function headersTooLarge(): ApiError {
  return new ApiError(431, `The request's headers are larger than the ${maxHeaderSize} bytes that this server reads.`, {
    code: "headers_too_large",
    headers: NOT_AGAIN,
  });
}

/** 408: headers or a body that take minutes. */
export function requestTooSlow(): ApiError {
  return new ApiError(408, "The request did not come within the time that this server waits for one.", {
    code: "request_timeout",
  });
}

export function expectationFailed(expected: string): ApiError {
  return new ApiError(417, `Expected the header \`expect\` to be 100-continue or left out, got ${expected}.`, {
    code: "expectation_failed",
    headers: NOT_AGAIN,
  });
}

export function bodyTooLarge(limit: number, length?: number): ApiError {
  const size = length === undefined ? "" : ` (it has ${length})`;
  return new ApiError(413, `The request's body is larger than the ${limit} bytes that this server reads${size}.`, {
    code: "request_too_large",
    headers: NOT_AGAIN,
  });
}

export function hostMissing(): ApiError {
  return new ApiError(400, "Expected a `Host` header.", { code: "missing_host", headers: NOT_AGAIN });
}

export function hostNotAllowed(name: string): ApiError {
  const message = `Host \`${name}\` is not allowed. Start with --allow-host ${name}.`;
  return new ApiError(403, message, { code: "host_not_allowed", headers: NOT_AGAIN });
}

export function originNotAllowed(origin: string): ApiError {
  const message = `Web pages of ${origin} may not use this server: only its own pages may.`;
  return new ApiError(403, message, { code: "origin_not_allowed", headers: NOT_AGAIN });
}

export function notJson(type: string): ApiError {
  const message = `Expected the content type application/json, got ${type}. With curl: -H 'content-type: application/json'`;
  return new ApiError(415, message, { code: "unsupported_content_type", headers: NOT_AGAIN });
}

export function encodedBody(encoding: string): ApiError {
  const message = `Expected a body without a content-encoding, got ${encoding}: this server takes no compressed bodies.`;
  return new ApiError(415, message, { code: "unsupported_content_encoding", headers: NOT_AGAIN });
}

/** The rest of the body is not read. */
const LATER = { "retry-after": "1", connection: "close" } as const;

/** 503: bodies of other requests use all the memory for bodies. */
export function uploadsFull(maxBytes: number): ApiError {
  const message = `The server is reading other requests' bodies, and all have at most ${maxBytes} bytes together.`;
  return new ApiError(503, message, { code: "uploads_full", headers: LATER });
}

/** 503: bodies of the same caller use all of one caller's share. */
export function shareTaken(share: number): ApiError {
  const message = `The server is reading other bodies of the same caller, and they have at most ${Math.floor(share)} bytes together now.`;
  return new ApiError(503, message, { code: "uploads_full", headers: LATER });
}

/** 503: unread answers use all the memory for answers. */
export function answersFull(maxBytes: number): ApiError {
  const message = `The server holds ${maxBytes} bytes of answers that others are still reading, and takes no texts until some are read.`;
  return new ApiError(503, message, { code: "answers_full", headers: { "retry-after": "1" } });
}

/** 408: a body that stops half-way blocks others. */
export function uploadStalled(stallMs: number): ApiError {
  return new ApiError(408, `Nothing came of the request's body for ${stallMs} ms.`, {
    code: "upload_stalled",
    headers: { connection: "close" },
  });
}

/** 408: a slow body takes memory from others until its end. */
export function uploadTooSlow(bytesPerSecond: number): ApiError {
  return new ApiError(408, `The request's body came more slowly than ${bytesPerSecond} bytes a second.`, {
    code: "upload_stalled",
    headers: { connection: "close" },
  });
}

/** 413: the queue can never hold this many texts, so waiting does not help. */
export function moreThanTheQueueHolds(texts: number, maxQueueSize: number): ApiError {
  const message = `The request has ${texts} texts, but the server's queue holds at most ${maxQueueSize}. Please send at most ${maxQueueSize} texts a request.`;
  return new ApiError(413, message, { param: "input", code: "more_than_queue_holds", headers: NOT_AGAIN });
}

export function modelNotFound(asked: string, served: string): ApiError {
  return new ApiError(404, `The model \`${shortened(asked)}\` does not exist; this server has \`${served}\`.`, {
    param: "model",
    code: "model_not_found",
    headers: NOT_AGAIN,
  });
}

/** Longer names are cut; no real one is longer. */
const LONGEST_NAME = 200;

function shortened(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}...`;
}

/** `meant`: the route that the caller probably meant. */
export function unknownRoute(method: string, path: string, meant?: string): ApiError {
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return new ApiError(404, `Unknown request URL: ${method} ${path}.${hint}`, {
    code: "unknown_url",
    headers: NOT_AGAIN,
  });
}

export function wrongMethod(method: string, path: string, allowed: string): ApiError {
  return new ApiError(405, `${method} is not allowed on ${path}; expected ${allowed}.`, {
    code: "method_not_allowed",
    headers: { ...NOT_AGAIN, allow: allowed },
  });
}

export function shuttingDown(): ApiError {
  return new ApiError(503, "The server is shutting down.", { code: "shutting_down", headers: { "retry-after": "1" } });
}

export function deadlineExceeded(): ApiError {
  const message = "The request was not answered within its deadline, the server's or that of `x-timeout-ms`.";
  return new ApiError(504, message, { code: "deadline_exceeded" });
}

/** 429: the texts cannot be answered within the server's latency target. */
function overloaded(failure: unknown): ApiError {
  const { retryAfterMs } = failure as { readonly retryAfterMs?: unknown };
  const ms = Number.isFinite(retryAfterMs) ? Math.max(1, Math.ceil(retryAfterMs as number)) : 1;
  const message = `The server is overloaded and cannot answer this request in time: come back in ${ms} ms.`;
  // OpenAI's clients read the second one first.
  const headers = { "retry-after": String(Math.ceil(ms / 1_000)), "retry-after-ms": String(ms) };
  return new ApiError(429, message, { code: "overloaded", headers });
}

/** The answer to a failed submit. `retryAfterSeconds` is called only if the queue is full. */
export function fromFailure(failure: unknown, retryAfterSeconds: () => number): ApiError {
  if (failure instanceof ApiError) return failure;
  switch (codeOf(failure)) {
    case "QUEUE_FULL":
      return new ApiError(429, `The server's queue is full: ${messageOf(failure)}`, {
        code: "queue_full",
        headers: { "retry-after": String(retryAfterSeconds()) },
      });
    case "OVERLOADED":
      return overloaded(failure);
    case "DEADLINE_EXCEEDED":
      return deadlineExceeded();
    case "CLOSED":
      return shuttingDown();
    case "THREAD_ENDED":
      return new ApiError(500, "The model stopped while it worked on this input.", { code: "model_stopped" });
    case "MODEL_INPUT":
      return invalidRequest(`The model cannot take this input: ${messageOf(failure)}.`, "input", "invalid_input");
    case "MODEL_FAILED":
      return new ApiError(500, `The model failed on this input: ${messageOf(failure)}`, {
        code: "model_failed",
        headers: NOT_AGAIN,
      });
    case "MODEL_NOT_FINITE":
      return new ApiError(422, `This input has no vector: ${messageOf(failure)}.`, {
        code: "vector_not_finite",
        headers: NOT_AGAIN,
      });
    default:
      return new ApiError(500, "The server failed on this request.", { code: "internal_error" });
  }
}

function codeOf(failure: unknown): unknown {
  return failure instanceof Error && "code" in failure ? failure.code : undefined;
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
