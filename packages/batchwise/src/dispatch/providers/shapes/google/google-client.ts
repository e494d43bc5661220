// The parts of `@google/genai` that the Gemini API and Vertex AI need: a version check, and the
// transport below the client's methods. Calls use it if a method hides fields of the answer.

import { invalidOption } from "../../../../core/contract/validate.ts";
import type { CallOptions } from "../../../contract/account.ts";
import { parseJson } from "../lines/exact-json.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";

/** The client's user agent: "google-genai-sdk/2.32.0 gl-node/v24.9.0". */
const VERSION = /google-genai-sdk\/((\d+)\.(\d+)\.\S+)/;
/** Earlier clients ignore a call's own retry setting. */
const LEAST: readonly [major: number, minor: number] = [2, 15];

const WANTED = `Expected \`client\` to be a \`GoogleGenAI\` of @google/genai ${LEAST.join(".")} or later`;

/** Longest delay of a platform timer, in ms. */
export const LONGEST_MS: number = 2 ** 31 - 1;

interface Version {
  readonly text: string;
  readonly major: number;
  readonly minor: number;
}

/** The client's version; null if it has none. */
export function googleVersion(client: object): Version | null {
  const { clientOptions } = objectOf((client as { readonly apiClient?: unknown }).apiClient);
  const headers = objectOf(objectOf(objectOf(clientOptions).httpOptions).headers);
  const [, version, major, minor] = VERSION.exec(text(headers["x-goog-api-client"]) ?? "") ?? [];
  return version === undefined ? null : { text: version, major: Number(major), minor: Number(minor) };
}

/**
 * Throws for a version of the client that would repeat calls. Accepts a client without a version.
 */
function checkGoogleVersion(client: object): void {
  const version = googleVersion(client);
  if (version === null) return;
  const isOld = version.major < LEAST[0] || (version.major === LEAST[0] && version.minor < LEAST[1]);
  if (!isOld) return;
  const got = `got one of version ${version.text}, which may repeat calls that must go once`;
  throw invalidOption(TypeError, `${WANTED}, ${got}`);
}

export type Query = Readonly<Record<string, string>>;

export interface TransportRequest {
  readonly path: string;
  readonly httpMethod: "GET" | "POST" | "DELETE";
  readonly queryParams: Query;
  readonly body?: string;
  readonly httpOptions: {
    /** Set on each call, because the client's default changes with its major version. */
    readonly apiVersion: string;
    readonly timeout?: number;
    readonly retryOptions: { readonly attempts: 1 };
  };
  readonly abortSignal: AbortSignal;
}

/** Sends with the client's address, credentials, headers and `fetch`. */
export interface Transport {
  request(request: TransportRequest): PromiseLike<unknown>;
}

/**
 * The client's transport. Throws for a client that is too old; one without a version only needs the
 * transport.
 */
export function transportOf(client: object): Transport {
  checkGoogleVersion(client);
  const { apiClient } = client as { readonly apiClient?: unknown };
  if (typeof objectOf(apiClient).request !== "function") {
    throw invalidOption(TypeError, `${WANTED}, got an object without its \`apiClient\``);
  }
  return apiClient as Transport;
}

/** The platform's response inside the transport's answer. */
export function responseOf(answer: unknown): Response {
  return objectOf(answer).responseInternal as Response;
}

/** Returns the JSON of one call. Makes it once, even if the client is configured to retry. */
export async function requestJson(
  transport: Transport,
  apiVersion: string,
  request: Pick<TransportRequest, "path" | "httpMethod" | "queryParams" | "body">,
  { signal, timeoutMs }: CallOptions,
): Promise<unknown> {
  const timeout = Math.min(LONGEST_MS, Math.ceil(timeoutMs));
  const httpOptions = { apiVersion, timeout, retryOptions: { attempts: 1 } } as const;
  const answer = await transport.request({ ...request, httpOptions, abortSignal: signal });
  return parseJson(await responseOf(answer).text());
}
