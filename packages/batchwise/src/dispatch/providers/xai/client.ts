// The part of OpenAI's official client (`openai` 5.0 and later, with xAI's `baseURL`) that the
// account calls, by shape. xAI's batches have paths and answers of their own, so only the methods
// for plain calls are used. Nothing is imported from the SDK; answers are read as unknown JSON.

import type { Unredirected } from "../shapes/sdk/redirects.ts";
import type { CallSettings } from "../shapes/sdk/sdk-call.ts";

/** A GET, with the parameters of its address. Pages are read without following redirects. */
export interface XaiGet extends CallSettings, Partial<Unredirected> {
  readonly query?: { readonly [name: string]: string | number };
}

/** A POST: a JSON object or a form. */
export interface XaiPost extends CallSettings {
  readonly body?: object;
}

/** `new OpenAI({ apiKey, baseURL: "https://api.x.ai/v1" })`: the methods that the account calls. */
export interface XaiClient {
  get(path: string, options: XaiGet): PromiseLike<unknown>;
  post(path: string, options: XaiPost): PromiseLike<unknown>;
  delete(path: string, options: CallSettings): PromiseLike<unknown>;
}
