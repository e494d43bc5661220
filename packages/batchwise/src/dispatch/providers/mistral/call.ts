// Calls on the client, and what it makes of answers that it cannot read. The client checks each
// answer against its own schema and throws where one does not fit, although the call was done: then
// what came is read as it is.

import type { CallOptions } from "../../contract/account.ts";
import { type Follower, UNREDIRECTED } from "../shapes/redirects.ts";
import { objectOf } from "../shapes/sdk-error.ts";
import type { MistralCallSettings, MistralDownloadSettings } from "./client.ts";

/** The client has no time limit where it is given a signal: the signal carries it. */
export function timedCall({ signal, timeoutMs }: CallOptions): MistralCallSettings {
  return {
    retries: { strategy: "none" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(timeoutMs))]),
  };
}

/** A call whose answer streams: who reads it decides how long. */
export function streamedCall({ signal }: CallOptions): MistralCallSettings {
  return { retries: { strategy: "none" }, signal };
}

/** The same for a file. Its redirects are errors. */
export function downloadCall(call: CallOptions): MistralDownloadSettings {
  return { ...streamedCall(call), ...UNREDIRECTED };
}

/**
 * The client has no call for any address: one is made with its key, as its calls are, and by its
 * own `httpClient`.
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
  return { base: base instanceof URL ? base.href : "", own, bare: (url) => send(url, { signal }) };
}

/** The answer, or what came on the wire where the client could not validate a 200. */
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
 * The bytes of a download. The client reads a body of another content type than
 * application/octet-stream to its end, and throws with its text. An empty text may be a download
 * that broke off: that is an error.
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
