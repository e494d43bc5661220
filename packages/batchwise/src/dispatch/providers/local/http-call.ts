// One line as one POST to a server of OpenAI's shape. An answer that such a server does not give (a
// page in place of JSON, a redirect, a refused key, no connection) says that the address or the key
// is wrong or that the server is away: no line is to blame. No redirect is followed: it would take
// prompts and headers to another host. An answer is read up to a limit.

import { retryAfterMs } from "../../../core/contract/retry-after.ts";
import type { CallOptions } from "../../contract/account.ts";
import { OUTCOME_CODES } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/types.ts";
import { wordsOf } from "../../format/client-error.ts";
import { jsonObject, readSdkError } from "../shapes/sdk-error.ts";
import { type Answer, Outage } from "./answer.ts";
import type { LocalRequest, MakeCall } from "./line-runner.ts";

export interface HttpServer {
  /** As an OpenAI client's: with "/v1". No slash at its end. */
  readonly baseURL: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Fields of each body, in place of its own. */
  readonly extraBody: JsonObject;
  /** After unpacking. */
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
 * Any answer but a refusal shows that the server is there: not every one lists its models. Rejects
 * without one.
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
 * Paths below "/v1" hang on the base; others, such as "/rerank", on what comes before its "/v1".
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

/** A `fetch` of the user's may have followed one in spite of all. */
function refuseRedirect(url: string, { status, headers, redirected }: Response): void {
  if (!redirected && (status < 300 || status >= 400)) return;
  const location = headers.get("location") ?? "";
  const place = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
  const what = redirected ? "has led to another address" : `answered ${status}, a redirect${place}`;
  const message = `${url} ${what}. Redirects are not followed: give the address that answers.`;
  throw Object.assign(new Outage({ kind: "unknown", code: "redirected", message }), { status });
}

/** null for a body of more than `most` bytes, of which no more is read. */
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
 * A connection that was never made is the server's; one that broke may be the line's, which may run
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

/**
 * null where it is no JSON object. A `null` comes from a server that had nothing to say: that has
 * no fields.
 */
function parse(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return value === null ? {} : jsonObject(value);
  } catch {
    return null;
  }
}
