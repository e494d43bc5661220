// Follows redirects of downloads by hand. `fetch` sends all headers of a client except
// `authorization` to another host, such as `api-key` and `x-api-key`. Here headers go only to the
// client's own host; after a redirect to another host, none are sent again. For clients whose calls
// take `fetchOptions`.

import type { CallOptions } from "../../../contract/account.ts";
import { statusOf } from "../../../format/client-error.ts";
import { headerOf } from "../../../format/headers.ts";
import { type CallSettings, callSettings } from "./sdk-call.ts";
import { objectOf, text } from "./sdk-error.ts";

const REDIRECTS: ReadonlySet<number | null> = new Set([301, 302, 303, 307, 308]);
const MOST_HOPS = 5;

/** Settings of a call whose redirects are an error of the client. */
export interface Unredirected {
  readonly fetchOptions: { readonly redirect: "manual" };
}

export const UNREDIRECTED: Unredirected = { fetchOptions: { redirect: "manual" } };

export type DownloadSettings = CallSettings & Unredirected;

export function downloadSettings(call: CallOptions): DownloadSettings {
  return { ...callSettings(call), ...UNREDIRECTED };
}

/** Gets the address of a redirect. Neither method follows redirects. */
export interface Follower {
  /** The client's own address. */
  readonly base: string;
  /**
   * Sends the client's headers. Rejects with the client's error for a non-2xx answer. null: the
   * client cannot.
   */
  readonly own: ((url: string) => PromiseLike<Response>) | null;
  /** Uses the client's connection, such as its proxy, without its headers. */
  readonly bare: (url: string, signal: AbortSignal) => Promise<Response>;
}

/**
 * Calls the client's own `fetch` with its connection options, if it has them as the official
 * clients of OpenAI, Anthropic and Together do.
 */
export function bareFetch(client: unknown, url: string, init: RequestInit): Promise<Response> {
  const { fetch: own, fetchOptions } = objectOf(client);
  const send = typeof own === "function" ? (own as typeof fetch) : globalThis.fetch;
  const { headers: _headers, ...connection } = objectOf(fetchOptions);
  // Called without `this`, as the client does.
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
 * The result of a download, or the body at the end of its redirects. `started`: made with
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
  let [last, from, isOwn]: [unknown, string, boolean] = [redirect, base, own !== null];
  for (let hops = 0; hops < MOST_HOPS; hops += 1) {
    const to = targetOf(locationIn(last) ?? "", from);
    if (to === null) throw new Error("A redirect of a download names no http or https address.", { cause: last });
    isOwn = isOwn && to.origin === originOf(base);
    const answer = isOwn && own !== null ? await asked(own(to.href)) : await bare(to.href, signal);
    if (locationIn(answer) === null) return whole(answer, to);
    await discard(answer);
    [last, from] = [answer, to.href];
  }
  throw new Error(`A download was redirected more than ${MOST_HOPS} times.`, { cause: redirect });
}

/** The answer, or the client's error if it is a redirect. */
async function asked(answer: PromiseLike<Response>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (locationIn(error) === null) throw error;
    return error;
  }
}

/**
 * The successful response. Another host's error is not about the account, so only the message has
 * its status.
 */
async function whole(answer: unknown, { host }: URL): Promise<Response> {
  const response = answer as Response;
  if (response.ok) return response;
  await discard(response);
  throw new Error(`${host}, where a redirect of the provider led, answered ${response.status}.`);
}

/** Drops a response's body. A client's own `fetch` may give another class, or a Node stream. */
async function discard(response: unknown): Promise<void> {
  const { body } = objectOf(response);
  const { cancel, destroy } = objectOf(body);
  if (typeof cancel === "function") await cancel.call(body);
  else if (typeof destroy === "function") destroy.call(body);
}

/** The location of a redirect, in a response or a client's error; null for any other. */
function locationIn(answer: unknown): string | null {
  return REDIRECTS.has(statusOf(answer)) ? headerOf(objectOf(answer).headers, "location") : null;
}

function targetOf(location: string, from: string): URL | null {
  if (!URL.canParse(location, from === "" ? undefined : from)) return null;
  const target = new URL(location, from === "" ? undefined : from);
  return /^https?:$/.test(target.protocol) ? target : null;
}

function originOf(base: string): string | null {
  return URL.canParse(base) ? new URL(base).origin : null;
}
