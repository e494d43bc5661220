// Redirects of downloads, followed by hand: `fetch` takes all headers of a client but
// `authorization` along to another host, such as `api-key` and `x-api-key`. To the client's own
// host its headers go; once a redirect has led to another one, none do, there and from there on.
// For clients that take `fetchOptions` with a call.

import type { CallOptions } from "../../contract/account.ts";
import { statusOf } from "../../format/client-error.ts";
import { type CallSettings, callSettings } from "./sdk-call.ts";
import { objectOf, text } from "./sdk-error.ts";

const REDIRECTS: ReadonlySet<number | null> = new Set([301, 302, 303, 307, 308]);
const MOST_HOPS = 5;

/** Of a call whose redirects are an error of the client. */
export interface Unredirected {
  readonly fetchOptions: { readonly redirect: "manual" };
}

export const UNREDIRECTED: Unredirected = { fetchOptions: { redirect: "manual" } };

export type DownloadSettings = CallSettings & Unredirected;

export function downloadSettings(call: CallOptions): DownloadSettings {
  return { ...callSettings(call), ...UNREDIRECTED };
}

/** How a client gets an address that a redirect names. Neither follows a redirect. */
export interface Follower {
  /** The client's own address. */
  readonly base: string;
  /**
   * With the headers of the client. Rejects with the client's error for an answer that is no
   * success; null: it cannot.
   */
  readonly own: ((url: string) => PromiseLike<Response>) | null;
  /** As the client connects, through its proxy for example, and without any header of it. */
  readonly bare: (url: string, signal: AbortSignal) => Promise<Response>;
}

/**
 * The client's own `fetch` and connection, where it has them as the official clients of OpenAI,
 * Anthropic and Together do.
 */
export function bareFetch(client: unknown, url: string, init: RequestInit): Promise<Response> {
  const { fetch: own, fetchOptions } = objectOf(client);
  const send = typeof own === "function" ? (own as typeof fetch) : globalThis.fetch;
  const { headers: _headers, ...connection } = objectOf(fetchOptions);
  // Called without the client as `this`, as the client does.
  return send.call(undefined, url, { ...connection, ...init, redirect: "manual" });
}

export function followerOf(client: unknown, call: CallOptions): Follower {
  const { baseURL, get } = objectOf(client);
  const own = async (url: string): Promise<Response> => {
    const answer = (get as (path: string, settings: DownloadSettings) => { asResponse(): Promise<Response> }).call(
      client,
      ...([url, downloadSettings(call)] as const),
    );
    return answer.asResponse();
  };
  return {
    base: text(baseURL) ?? "",
    own: typeof get === "function" ? own : null,
    bare: (url, signal) => bareFetch(client, url, { signal }),
  };
}

/**
 * What a download gives, or the body at the end of its redirects. `started`: made with
 * `downloadSettings`.
 */
export async function followed<Answer>(
  started: PromiseLike<Answer>,
  follower: Follower,
  { signal }: CallOptions,
): Promise<Answer | { readonly body: unknown }> {
  try {
    return await started;
  } catch (error) {
    if (locationIn(error) === null) throw error;
    return follow(error, follower, signal);
  }
}

async function follow(redirect: unknown, { base, own, bare }: Follower, signal: AbortSignal): Promise<Response> {
  let [told, from, isOwn]: [unknown, string, boolean] = [redirect, base, own !== null];
  for (let hops = 0; hops < MOST_HOPS; hops += 1) {
    const to = targetOf(locationIn(told) ?? "", from);
    if (to === null) throw new Error("A redirect of a download names no http or https address.", { cause: told });
    isOwn = isOwn && to.origin === originOf(base);
    const answer = isOwn && own !== null ? await asked(own(to.href)) : await bare(to.href, signal);
    if (locationIn(answer) === null) return whole(answer, to);
    if (answer instanceof Response) await answer.body?.cancel();
    [told, from] = [answer, to.href];
  }
  throw new Error(`A download was redirected more than ${MOST_HOPS} times.`, { cause: redirect });
}

/** The answer, or the client's error of a redirect. */
async function asked(answer: PromiseLike<Response>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (locationIn(error) === null) throw error;
    return error;
  }
}

/**
 * What another host says of its own address says nothing about the account: its status is in words
 * alone.
 */
async function whole(answer: unknown, { host }: URL): Promise<Response> {
  const response = answer as Response;
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`${host}, where a redirect of the provider led, answered ${response.status}.`);
}

/** Of a response or a client's error that is a redirect; null for any other. */
function locationIn(answer: unknown): string | null {
  const { headers } = objectOf(answer);
  if (!REDIRECTS.has(statusOf(answer)) || !(headers instanceof Headers)) return null;
  return text(headers.get("location"));
}

function targetOf(location: string, from: string): URL | null {
  if (!URL.canParse(location, from === "" ? undefined : from)) return null;
  const target = new URL(location, from === "" ? undefined : from);
  return /^https?:$/.test(target.protocol) ? target : null;
}

function originOf(base: string): string | null {
  return URL.canParse(base) ? new URL(base).origin : null;
}
