// Reads a client's `fetch` call: whether it goes to a batch, and if so its endpoint, model, body
// and headers. The body of any other call is left unread.

import type { Endpoint, JsonObject, KnownEndpoint } from "../../contract/types.ts";
import { isFormData, isRequest } from "../../format/headers.ts";

export type FetchInput = Parameters<typeof globalThis.fetch>[0];
export type FetchInit = Parameters<typeof globalThis.fetch>[1];

/** The destination of a call, read from its address. */
export interface Target {
  readonly endpoint: Endpoint;
  /** The model in the address; null if the body names it. */
  readonly model: string | null;
  /** True if the address requests a streamed answer. */
  readonly isStream: boolean;
}

/** A mistake in a client's call, with `code` and `message`. */
export class CallError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Batch endpoints that are never sent live: a call is refused if no account serves its endpoint.
 */
const KNOWN: readonly KnownEndpoint[] = [
  "/v1/chat/completions",
  "/v1/embeddings",
  "/v1/responses",
  "/v1/completions",
  "/v1/moderations",
  "/v1/images/generations",
  "/v1/messages",
];
const CHAT = "/v1/chat/completions";
const GENERATE = "/v1beta/generateContent";
/** Gemini's model methods and their endpoints. No account serves the last one, so it is refused. */
const METHODS: ReadonlyMap<string, Endpoint> = new Map([
  ["generateContent", GENERATE],
  ["streamGenerateContent", GENERATE],
  ["embedContent", "/v1beta/embedContent"],
  ["batchEmbedContents", "/v1beta/batchEmbedContents"],
]);
const GEMINI = /\/models\/(?<model>[^/:]+):(?<method>\w+)$/;
/**
 * Path prefixes of known services before `/embeddings`, `/messages` and the other endpoints, so
 * that unrelated services are not intercepted. `/chat/completions` allows any prefix.
 */
const BEFORE = /\/(?:v\d\w*|openai|inference|models|compat|anthropic)$/;
const DEPLOYMENT = /\/deployments\/(?<deployment>[^/]+)$/;

/** The endpoints whose calls go to batches. */
export function batchedEndpoints(ofAccounts: Iterable<Endpoint>): ReadonlySet<Endpoint> {
  return new Set<Endpoint>([...KNOWN, GENERATE, ...ofAccounts]);
}

/** The call's target, or null if it does not go to a batch. */
export function targetOf(input: FetchInput, init: FetchInit, endpoints: ReadonlySet<Endpoint>): Target | null {
  const method = init?.method ?? (isRequest(input) ? input.method : "GET");
  if (method.toUpperCase() !== "POST" || isFormData(init?.body)) return null;
  const path = pathOf(input);
  const gemini = GEMINI.exec(path)?.groups;
  const geminis = METHODS.get(gemini?.method ?? "");
  if (gemini !== undefined && geminis !== undefined) {
    const isStream = gemini.method === "streamGenerateContent";
    return { endpoint: geminis, model: decodeURIComponent(gemini.model ?? ""), isStream };
  }
  for (const endpoint of endpoints) {
    const tail = endpoint.replace(/^\/v\d\w*/, "");
    if (!path.endsWith(tail)) continue;
    const before = path.slice(0, -tail.length);
    const deployment = DEPLOYMENT.exec(before)?.groups?.deployment;
    if (deployment === undefined && endpoint !== CHAT && !BEFORE.test(before)) continue;
    return { endpoint, model: deployment === undefined ? null : decodeURIComponent(deployment), isStream: false };
  }
  return null;
}

function pathOf(input: FetchInput): string {
  const url = isRequest(input) ? input.url : String(input);
  return URL.canParse(url) ? new URL(url).pathname.replace(/\/+$/, "") : "";
}

export function headersOf(input: FetchInput, init: FetchInit): Headers {
  return new Headers(init?.headers ?? (isRequest(input) ? input.headers : undefined));
}

export function signalOf(input: FetchInput, init: FetchInit): AbortSignal | undefined {
  return init?.signal ?? (isRequest(input) ? input.signal : undefined);
}

/**
 * The body as an object, with the model from the address. Reads a copy, so that a `Request` stays
 * unread.
 */
export async function bodyOf(input: FetchInput, init: FetchInit, { model }: Target): Promise<JsonObject> {
  const given = init?.body ?? null;
  const text = await (given === null && isRequest(input) ? input.clone() : new Response(given)).text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new CallError(400, "invalid_json", `Expected a body of JSON: ${(error as Error).message}.`);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new CallError(400, "invalid_json", "Expected the body to be a JSON object.");
  }
  return model === null ? (body as JsonObject) : { ...(body as JsonObject), model };
}

const OWN = /^x-batchwise-/;

/** Sends a call outside of batches, without the `x-batchwise-*` headers. */
export function passOn(fetch: typeof globalThis.fetch, input: FetchInput, init: FetchInit): Promise<Response> {
  const headers = headersOf(input, init);
  const own = [...headers.keys()].filter((name) => OWN.test(name));
  if (own.length === 0) return fetch(input, init);
  for (const name of own) headers.delete(name);
  return fetch(input, { ...init, headers });
}
