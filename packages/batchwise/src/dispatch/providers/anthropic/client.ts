// The part of the official `@anthropic-ai/sdk` client (1.0 and later) that the adapter calls, by
// shape: nothing is imported from the SDK, and its answers are read as unknown JSON.

import type { DownloadSettings } from "../shapes/redirects.ts";
import type { CallSettings } from "../shapes/sdk-call.ts";
import { objectOf } from "../shapes/sdk-error.ts";

/** What a create of a message batch sends. */
export interface MessageBatchBody {
  readonly requests: { readonly custom_id: string; readonly params: object }[];
}

/** Which page of message batches is listed. */
export interface MessageBatchQuery {
  readonly limit?: number;
  readonly after_id?: string;
}

/** What the SDK turns into headers of a call; absent where the account has no such option. */
export interface MessageBatchParams {
  readonly workspace_id?: string;
  /** Of `client.beta` only. */
  readonly betas?: string[];
}

/** The methods of message batches that the account calls. */
export interface MessageBatches {
  create(
    body: MessageBatchBody & MessageBatchParams & { readonly user_profile_id?: string },
    call: CallSettings,
  ): PromiseLike<unknown>;
  retrieve(batchId: string, params: MessageBatchParams, call: CallSettings): PromiseLike<unknown>;
  list(query: MessageBatchQuery & MessageBatchParams, call: CallSettings): PromiseLike<unknown>;
  cancel(batchId: string, params: MessageBatchParams, call: CallSettings): PromiseLike<unknown>;
  /** Needed for the account's option `cleanup` only. */
  delete?(batchId: string, params: MessageBatchParams, call: CallSettings): PromiseLike<unknown>;
  /** Result lines, parsed, as they arrive. */
  results(batchId: string, params: MessageBatchParams, call: DownloadSettings): PromiseLike<AsyncIterable<unknown>>;
}

/** The part of the official client that the account calls. */
export interface AnthropicClient {
  readonly messages: { readonly batches: MessageBatches };
  /** Needed for the account's option `betas` only. */
  readonly beta?: { readonly messages: { readonly batches: MessageBatches } };
}

/**
 * The same methods, whose `results` asks the client's own host: the SDK goes, with the client's
 * key, to whatever address the batch names. Another host's is replaced by the path that the API
 * documents. An object of the user's own stays as it is.
 */
export function withOwnResults(batches: MessageBatches, client: AnthropicClient): MessageBatches {
  const { baseURL } = objectOf(client);
  if (!("_client" in batches) || typeof baseURL !== "string") return batches;
  const retrieve: MessageBatches["retrieve"] = async (id, params, call) => {
    const seen = objectOf(await batches.retrieve(id, params, call));
    const { results_url: url } = seen;
    if (typeof url !== "string" || !URL.canParse(url) || new URL(url).origin === new URL(baseURL).origin) return seen;
    return { ...seen, results_url: `/v1/messages/batches/${encodeURIComponent(id)}/results` };
  };
  return Object.create(batches, { retrieve: { value: retrieve } }) as MessageBatches;
}

/**
 * The bytes below the lines that the SDK parses (`JSONLDecoder` of 1.0 and later): the SDK stops at
 * a line that is not JSON, and the reader here goes on behind it. Null where there are none.
 */
export function bytesOf(lines: AsyncIterable<unknown>): AsyncIterable<unknown> | null {
  const { iterator } = objectOf(lines);
  return Symbol.asyncIterator in Object(iterator) ? (iterator as AsyncIterable<unknown>) : null;
}
