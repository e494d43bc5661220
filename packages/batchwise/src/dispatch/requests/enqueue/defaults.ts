// Applies `requestDefaults` to request bodies. They are in OpenAI's format: a body in a provider's
// own format gets only `model`, and a line of a batch file gets none.

import type { BatchLine, DispatchRequest, Endpoint, JsonObject } from "../../contract/types.ts";
import { mergeDefaults } from "../../format/encode.ts";
import type { ResolvedOptions } from "../../options/resolve-options.ts";

export class Defaults {
  readonly #all: JsonObject;
  readonly #ofNative: JsonObject;
  readonly #native: ReadonlySet<string>;

  constructor({ accounts, requestDefaults }: Pick<ResolvedOptions, "accounts" | "requestDefaults">) {
    this.#all = requestDefaults;
    this.#ofNative = "model" in requestDefaults ? { model: requestDefaults.model } : {};
    this.#native = new Set([...accounts.values()].flatMap(({ capabilities }) => capabilities.nativeEndpoints ?? []));
  }

  /** The body to send; `given.body` itself if no default applies. */
  bodyOf(given: DispatchRequest | BatchLine, endpoint: Endpoint): JsonObject {
    if ("custom_id" in given) return given.body;
    return mergeDefaults(this.#native.has(endpoint) ? this.#ofNative : this.#all, given.body);
  }
}
