// What the Gemini API and Vertex AI need of `@google/genai`: which versions fit, and the transport
// that the client's methods use themselves. Calls go through it where the methods hide what an
// answer says.

import { invalidOption } from "../../../core/contract/validate.ts";
import type { CallOptions } from "../../contract/account.ts";
import { parseJson } from "./exact-json.ts";
import { objectOf, text } from "./sdk-error.ts";

/** What clients call themselves: "google-genai-sdk/2.32.0 gl-node/v24.9.0". */
const VERSION = /google-genai-sdk\/((\d+)\.(\d+)\.\S+)/;
/** Earlier ones take the retries of a call from the client's options alone. */
const LEAST: readonly [major: number, minor: number] = [2, 15];

const WANTED = `Expected \`client\` to be a \`GoogleGenAI\` of @google/genai ${LEAST.join(".")} or later`;

/** Longest time that platform timers hold. */
export const LONGEST_MS: number = 2 ** 31 - 1;

interface Version {
  readonly text: string;
  readonly major: number;
  readonly minor: number;
}

/** The client's version; null for one that does not name it. */
export function googleVersion(client: object): Version | null {
  const { clientOptions } = objectOf((client as { readonly apiClient?: unknown }).apiClient);
  const headers = objectOf(objectOf(objectOf(clientOptions).httpOptions).headers);
  const [, version, major, minor] = VERSION.exec(text(headers["x-goog-api-client"]) ?? "") ?? [];
  return version === undefined ? null : { text: version, major: Number(major), minor: Number(minor) };
}

/**
 * Throws for a client that would repeat calls by itself. One that does not name its version is not
 * judged.
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
    /**
     * Part of the address: given with each call, because the client's default changes with its
     * major version.
     */
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
 * Throws for a client that is too old. One that does not name its version is judged by its
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

/** The transport answers with an object around the platform's response. */
export function responseOf(answer: unknown): Response {
  return objectOf(answer).responseInternal as Response;
}

/** The JSON of one call, which is made once, whatever retries the client was configured with. */
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
