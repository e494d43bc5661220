// Runs one line as one POST to a server of OpenAI's format. Answers that such a server does not
// give (an HTML page, a redirect, a refused key, no connection) mean a wrong address or key, or a
// server that is down: they blame no line. Never follows a redirect, which would take prompts and
// headers to another host. Reads an answer up to a limit.

import { retryAfterMs } from "../../../core/contract/retry-after.ts";
import type { CallOptions } from "../../contract/account.ts";
import { OUTCOME_CODES } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/types.ts";
import { wordsOf } from "../../format/client-error.ts";
import { jsonObject, readSdkError } from "../shapes/sdk/sdk-error.ts";
import { type Answer, Outage } from "./answer.ts";
import type { LocalRequest, MakeCall } from "./line-runner.ts";

export interface HttpServer {
  /** Like an OpenAI client's: with "/v1", without a trailing slash. */
  readonly baseURL: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Fields of each body, in place of its own. */
  readonly extraBody: JsonObject;
  /** After decompression. */
  readonly maxAnswerBytes: number;
  readonly fetch: typeof fetch;
}

export function httpCall(server: HttpServer): MakeCall {
  return async (request, signal) => {
    const url = urlOf(server.baseURL, request.endpoint);
    let response: Response;
    let text: string | null;
    try {
      response = await post(server, url, request, signal);
      refuseRedirect(url, response);
      text = await textOf(response, server.maxAnswerBytes);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Outage) throw error;
      return lost(url, error);
    }
    if (text === null && response.ok) return tooLarge(url, server.maxAnswerBytes);
    return answerOf(url, response, text ?? "");
  };
}

/**
 * Checks that the server answers. Any status but a refusal of the key passes, because some servers
 * do not list models. Rejects without an answer.
 */
export function httpCheck({ baseURL, headers, fetch }: HttpServer): (call: CallOptions) => Promise<void> {
  return async ({ signal }) => {
    const url = `${baseURL}/models`;
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    const { status, body } = response;
    await body?.cancel();
    refuseRedirect(url, response);
    if (status !== 401 && status !== 403 && status < 500) return;
    const kind = status < 500 ? "authOrBilling" : "unknown";
    const failure = { kind, code: `http_${status}`, message: `${url} answered ${status}.` } as const;
    throw Object.assign(new Outage(failure), { status });
  };
}

/**
 * The address of an endpoint. Paths below "/v1" are appended to the base; others, such as
 * "/rerank", replace its "/v1".
 */
function urlOf(baseURL: string, endpoint: string): string {
  if (endpoint.startsWith("/v1/")) return baseURL + endpoint.slice("/v1".length);
  return baseURL.replace(/\/v1$/, "") + endpoint;
}

function post(server: HttpServer, url: string, { body }: LocalRequest, signal: AbortSignal): Promise<Response> {
  const { headers, extraBody } = server;
  const text = JSON.stringify({ ...body, ...extraBody });
  return server.fetch(url, { method: "POST", headers, body: text, signal, redirect: "manual" });
}

/** Throws for a redirect, also for one that the user's `fetch` has followed. */
function refuseRedirect(url: string, { status, headers, redirected }: Response): void {
  if (!redirected && (status < 300 || status >= 400)) return;
  const location = headers.get("location") ?? "";
  const place = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
  const what = redirected ? "has led to another address" : `answered ${status}, a redirect${place}`;
  const message = `${url} ${what}. Redirects are not followed: give the address that answers.`;
  throw Object.assign(new Outage({ kind: "unknown", code: "redirected", message }), { status });
}

/** The text; null for a body of more than `most` bytes, which is not read further. */
async function textOf({ body }: Response, most: number): Promise<string | null> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let bytes = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces.join("") + decoder.decode();
    bytes += value.length;
    if (bytes > most) {
      await reader.cancel();
      return null;
    }
    pieces.push(decoder.decode(value, { stream: true }));
  }
}

function tooLarge(url: string, most: number): Answer {
  const message = `The answer of ${url} has more than ${most} bytes (\`maxAnswerBytes\`).`;
  return { kind: "lost", code: OUTCOME_CODES.answerTooLarge, message, mayRepeat: false };
}

/**
 * A failed connection is the server's fault. A broken one may be the line's, so the line may run
 * twice.
 */
function lost(url: string, error: unknown): Answer {
  const { neverSent } = readSdkError(error);
  const words = `No answer from ${url}: ${wordsOf(error)}`;
  if (neverSent) throw new Outage({ kind: "unknown", code: "server_unreachable", message: words }, error);
  return { kind: "lost", code: "connection_lost", message: words, mayRepeat: true };
}

function answerOf(url: string, response: Response, text: string): Answer {
  const { status: statusCode } = response;
  const body = parse(text);
  const isSuccess = statusCode >= 200 && statusCode < 300;
  if (statusCode === 401 || statusCode === 402) {
    const message = `${url} answered ${statusCode}: the key is refused.`;
    throw new Outage({ kind: "authOrBilling", code: `http_${statusCode}`, message });
  }
  if (body === null && (isSuccess || statusCode === 404 || statusCode === 405)) {
    const type = response.headers.get("content-type") ?? "no content type";
    const message = `${url} answered ${statusCode} with ${type} in place of a JSON object: is the address right?`;
    throw new Outage({ kind: "unknown", code: "unexpected_answer", message });
  }
  const asked = retryAfterMs({ headers: response.headers }, Date.now());
  return { kind: "answer", statusCode, body: body ?? { message: text.slice(0, 1_000) }, retryAfterMs: asked ?? null };
}

/** The object; null if the text is no JSON object. A JSON null is an empty object. */
function parse(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return value === null ? {} : jsonObject(value);
  } catch {
    return null;
  }
}
