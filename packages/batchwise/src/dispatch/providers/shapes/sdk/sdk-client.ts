// Checks an official client when an account is made: its version and its methods. Refuses a client
// that would fail at the first upload, or repeat calls, with a message that names the expected and
// the actual version or method. A custom object without a version only needs the methods.

import { expected, invalidOption, objectWith } from "../../../../core/contract/validate.ts";
import { objectOf, text } from "./sdk-error.ts";

/** The package that an account needs, and its first major version that fits. */
export interface SdkNeed {
  readonly package: string;
  readonly least: number;
  /** The fault of earlier versions. */
  readonly why: string;
}

/** The user agent of official clients: "OpenAI/JS 6.49.0". */
const USER_AGENT = /\/JS ((\d+)\.\S+)$/;

/** Checks the option `client` of an account. */
export function checkIsClient(client: unknown): void {
  if (typeof client === "object" && client !== null) return;
  const rule = { ...objectWith(), expected: "an official client, as in `{ client: new OpenAI() }`" };
  throw expected("client", rule, client);
}

export function checkSdkVersion(client: object, need: SdkNeed): void {
  const version = sdkVersion(client);
  if (version === null || version.major >= need.least) return;
  const wanted = `Expected \`client\` to be one of ${need.package} ${need.least} or later`;
  throw invalidOption(TypeError, `${wanted}, got one of version ${version.text}, ${need.why}`);
}

/**
 * Throws for OpenAI's client without the `baseURL` of the service: files for the service would go
 * to OpenAI.
 */
export function checkNotAtOpenAi(client: object, service: string, baseURL: string): void {
  const own = text(objectOf(client).baseURL);
  if (own === null || !URL.canParse(own)) return;
  const { hostname } = new URL(own);
  if (!/(?:^|\.)openai\.com$/.test(hostname)) return;
  const wanted = `Expected \`client\` to be one of ${service}, as \`new OpenAI({ apiKey, baseURL: "${baseURL}" })\``;
  throw invalidOption(TypeError, `${wanted}, got one of ${hostname}`);
}

/** Throws unless the object has all methods; the error names the missing ones. */
export function checkMethods(name: string, value: object, methods: readonly string[]): void {
  const missing = methods.filter((method) => typeof objectOf(value)[method] !== "function");
  if (missing.length === 0) return;
  const wanted = `Expected \`${name}\` to be an object with ${methods.join(", ")}`;
  throw invalidOption(TypeError, `${wanted}, got one without ${missing.join(", ")}`);
}

function sdkVersion(client: object): { readonly major: number; readonly text: string } | null {
  const { getUserAgent } = objectOf(client);
  if (typeof getUserAgent !== "function") return null;
  const said: unknown = getUserAgent.call(client);
  const [, text, major] = (typeof said === "string" ? USER_AGENT.exec(said) : null) ?? [];
  return text === undefined || major === undefined ? null : { text, major: Number(major) };
}
