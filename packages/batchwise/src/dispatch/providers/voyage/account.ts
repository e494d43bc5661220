// An account at Voyage, over OpenAI's official client: files and batches have OpenAI's shape there,
// and the account's record says what differs.

import { check, invalidOption, objectWith } from "../../../core/contract/validate.ts";
import type { Account } from "../../contract/account.ts";
import { openaiAccount } from "../openai/account.ts";
import type { OpenAiClient } from "../openai/client.ts";
import type { OpenAiAccountOptions } from "../openai/options.ts";
import { checkIsClient, checkNotAtOpenAi } from "../shapes/sdk/sdk-client.ts";
import { voyageService } from "./capabilities.ts";

/** Options of `voyageAccount`. */
export interface VoyageAccountOptions extends Omit<OpenAiAccountOptions, "client" | "service" | "completionWindow"> {
  /** `new OpenAI({ apiKey, baseURL: "https://api.voyageai.com/v1" })` of `openai` 5 or later. */
  readonly client: OpenAiClient;
}

/**
 * An account for the dispatcher's `accounts`: embeddings, contextualized embeddings and rerankers
 * of Voyage. A body is the same as for a single call, and requests share a batch if they agree in
 * model and parameters.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 * @example
 * ```ts
 * import { type OpenAiClient, voyageAccount } from "batchwise/dispatch/voyage";
 * // new OpenAI({ apiKey, baseURL: "https://api.voyageai.com/v1" })
 * declare const client: OpenAiClient;
 * const account = voyageAccount({ client, models: ["voyage-3.5"] });
 * ```
 */
export function voyageAccount(options: VoyageAccountOptions): Account {
  check("options", objectWith(), options);
  for (const name of ["service", "completionWindow"]) {
    if (name in options) throw invalidOption(TypeError, `Expected no option \`${name}\`: Voyage has one`);
  }
  checkIsClient(options.client);
  checkNotAtOpenAi(options.client, "Voyage", "https://api.voyageai.com/v1");
  return openaiAccount({ ...options, service: voyageService });
}
