// Turns an outcome or a refusal into the Response that the provider's own client expects. Each
// client then returns its answer or throws its own error class. A client that obeys
// `x-should-retry` does not repeat a call whose request has ended.

import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject, Outcome, OutcomeResponse } from "../../contract/types.ts";
import type { AnswerForm } from "./call-request.ts";
import { eventStreamOf } from "./event-streams.ts";
import { CallError } from "./read-call.ts";

/** HTTP status of a refusal, by code. 503 means that a repeat may succeed. */
const STATUS_OF_REFUSAL: Readonly<Record<string, number>> = {
  INVALID_REQUEST: 400,
  MISSING_MODEL: 400,
  UNKNOWN_ENDPOINT: 404,
  NO_ACCOUNT: 404,
  DUPLICATE_ID: 409,
  PRUNED: 410,
  REQUEST_TOO_LARGE: 413,
};

/** HTTP status of a failed outcome, by code, when the provider gave none. Default: 502. */
const STATUS_OF_OUTCOME: ReadonlyMap<string, number> = new Map([
  ["request_too_large", 413],
  ["batch_refused", 400],
  ["below_minimum", 400],
]);

interface Fault {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Whether a repeat of the call may succeed. Default false. */
  readonly isPassing?: boolean;
}

/** The Response for an ended request, in the form that the caller requested. */
export function answerOf(outcome: Outcome, endpoint: Endpoint, form: AnswerForm): Response {
  const { id, status, response, error } = outcome;
  if (response !== null && isHttp(response.statusCode) && isSuccess(response.statusCode) === (status === "succeeded")) {
    return status === "succeeded" ? successOf(id, response, endpoint, form) : errorOf(id, response, endpoint);
  }
  const code = error?.code ?? "no_answer";
  const ended = status === "cancelled" ? 499 : status === "expired" ? 504 : (STATUS_OF_OUTCOME.get(code) ?? 502);
  const message = error?.message ?? "The request ended without an answer.";
  return faultResponse({ status: ended, code, message }, endpoint, id);
}

function successOf(id: string, { statusCode, body }: OutcomeResponse, endpoint: Endpoint, form: AnswerForm): Response {
  const headers = identified(endpoint, id);
  if (form === "base64") return jsonResponse(withBase64(body), statusCode, headers);
  const events = form === "plain" ? null : eventStreamOf(endpoint, body, form === "eventsWithUsage");
  if (events === null) return jsonResponse(body, statusCode, headers);
  return new Response(events, { status: statusCode, headers: { "content-type": "text/event-stream", ...headers } });
}

/** The provider's own error, with its status and body. */
function errorOf(id: string, { statusCode, body }: OutcomeResponse, endpoint: Endpoint): Response {
  return jsonResponse(body, statusCode, { ...identified(endpoint, id), "x-should-retry": "false" });
}

/** The Response for a call that was refused. Rethrows errors that are not this library's. */
export function refusalOf(error: unknown, endpoint: Endpoint, accounts: Iterable<string>): Response {
  if (error instanceof CallError) return faultResponse(error, endpoint);
  if (!(error instanceof DispatchError)) throw error;
  const status = STATUS_OF_REFUSAL[error.code] ?? 503;
  const isModel = error.code === "NO_ACCOUNT" || error.code === "UNKNOWN_ENDPOINT";
  const code = isModel ? "model_not_found" : error.code.toLowerCase();
  const message = isModel ? `${error.message} The accounts are: ${[...accounts].join(", ")}.` : messageOf(error);
  return faultResponse({ status, code, message, isPassing: status === 503 && error.retryable }, endpoint);
}

/** The error's message, in words of a caller who knows no request ids. */
function messageOf({ code, message }: DispatchError): string {
  return code === "MISSING_MODEL" ? "The body of this call names no `model`, and `requestDefaults` has none." : message;
}

function faultResponse(fault: Fault, endpoint: Endpoint, id?: string): Response {
  const { status, isPassing = false } = fault;
  const headers = {
    ...(id === undefined ? {} : identified(endpoint, id)),
    ...(isPassing ? {} : { "x-should-retry": "false" }),
  };
  return jsonResponse(inShapeOf(endpoint, fault), status, headers);
}

/** An error body in the format of the endpoint's provider. */
function inShapeOf(endpoint: Endpoint, { status, code, message }: Fault): JsonObject {
  if (endpoint === "/v1/messages") return { type: "error", error: { type: anthropicType(status), message, code } };
  if (endpoint.startsWith("/v1beta/")) return { error: { code: status, message, status: code.toUpperCase() } };
  return { error: { message, type: status < 500 ? "invalid_request_error" : "server_error", param: null, code } };
}

function anthropicType(status: number): string {
  if (status === 404) return "not_found_error";
  if (status === 413) return "request_too_large";
  return status < 500 ? "invalid_request_error" : "api_error";
}

/** The header in which the provider's client looks for the request id. */
function identified(endpoint: Endpoint, id: string): Record<string, string> {
  return { [endpoint === "/v1/messages" ? "request-id" : "x-request-id"]: id };
}

function jsonResponse(body: JsonObject, status: number, headers: Readonly<Record<string, string>>): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

/** True for a status that a Response with a body may have. */
function isHttp(status: number): boolean {
  return status >= 200 && status <= 599 && status !== 204 && status !== 205 && status !== 304;
}

function isSuccess(status: number): boolean {
  return status < 300;
}

/** Encodes embeddings as OpenAI does: base64 of little-endian 32-bit floats. */
function withBase64(body: JsonObject): JsonObject {
  const data = body.data;
  if (!Array.isArray(data)) return body;
  return {
    ...body,
    data: data.map((row) => (Array.isArray(row?.embedding) ? { ...row, embedding: encoded(row.embedding) } : row)),
  };
}

function encoded(values: readonly number[]): string {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString("base64");
}
