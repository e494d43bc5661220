// Settings of calls on the client, and its unreadable answers. The client validates each answer
// with its own schema and throws if it does not fit, although the call succeeded: then the raw
// answer is used.

import type { CallOptions } from "../../contract/account.ts";
import { type Follower, UNREDIRECTED } from "../shapes/sdk/redirects.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";
import type { MistralCallSettings, MistralDownloadSettings } from "./client.ts";

/** Settings of a call. With a signal the client ignores `timeoutMs`, so the signal includes it. */
export function timedCall({ signal, timeoutMs }: CallOptions): MistralCallSettings {
  return {
    retries: { strategy: "none" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(timeoutMs))]),
  };
}

/** Settings of a streamed answer. The reader decides how long it takes. */
export function streamedCall({ signal }: CallOptions): MistralCallSettings {
  return { retries: { strategy: "none" }, signal };
}

/** Settings of a file download. Redirects are errors. */
export function downloadCall(call: CallOptions): MistralDownloadSettings {
  return { ...streamedCall(call), ...UNREDIRECTED };
}

/**
 * The client has no method for arbitrary addresses, so this makes the call with its key and its
 * `httpClient`.
 */
export function mistralFollower(client: unknown, { signal }: CallOptions): Follower {
  const { _baseURL: base, _options: options } = objectOf(client);
  const { apiKey, httpClient } = objectOf(options);
  const { request } = objectOf(httpClient);
  const send = (url: string, init: RequestInit): Promise<Response> => {
    const made = new Request(url, { ...init, redirect: "manual" });
    return typeof request === "function" ? request.call(httpClient, made) : fetch(made);
  };
  const own = async (url: string): Promise<Response> => {
    const key = String(typeof apiKey === "function" ? await apiKey() : apiKey);
    const response = await send(url, { headers: { authorization: `Bearer ${key}` }, signal });
    if (response.ok || (response.status >= 300 && response.status < 400)) return response;
    throw Object.assign(new Error(`The provider answered ${response.status}.`), { statusCode: response.status });
  };
  return { base: text(objectOf(base).href) ?? "", own, bare: (url) => send(url, { signal }) };
}

/** The answer, or the raw body of a 200 that the client could not validate. */
export async function answerOf(sent: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await sent;
  } catch (error) {
    const { statusCode, rawValue } = objectOf(error);
    if (statusCode !== 200 || typeof rawValue !== "object" || rawValue === null) throw error;
    return rawValue;
  }
}

/**
 * The bytes of a download. If the content type is not application/octet-stream, the client reads
 * the whole body and throws with its text. An empty text may be a broken download, so it rejects.
 */
export async function bytesOf(sent: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await sent;
  } catch (error) {
    const { statusCode, body } = objectOf(error);
    if (statusCode !== 200 || typeof body !== "string" || body === "") throw error;
    return chunk(body);
  }
}

async function* chunk(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
