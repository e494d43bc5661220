// The part of the official `@anthropic-ai/sdk` client (1.0 and later) that the adapter calls, by
// shape. Nothing is imported from the SDK, and its answers are read as unknown JSON.

import type { DownloadSettings } from "../shapes/sdk/redirects.ts";
import type { CallSettings } from "../shapes/sdk/sdk-call.ts";
import { objectOf } from "../shapes/sdk/sdk-error.ts";

/** The body of a create. */
export interface MessageBatchBody {
  readonly requests: { readonly custom_id: string; readonly params: object }[];
}

/** The page of message batches to list. */
export interface MessageBatchQuery {
  readonly limit?: number;
  readonly after_id?: string;
}

/** Parameters that the SDK sends as headers; absent if the account lacks the option. */
export interface MessageBatchParams {
  readonly workspace_id?: string;
  /** Only for `client.beta`. */
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
  /** Needed only for the account's option `cleanup`. */
  delete?(batchId: string, params: MessageBatchParams, call: CallSettings): PromiseLike<unknown>;
  /** Result lines, parsed, as they arrive. */
  results(batchId: string, params: MessageBatchParams, call: DownloadSettings): PromiseLike<AsyncIterable<unknown>>;
}

/** The part of the official client that the account calls. */
export interface AnthropicClient {
  readonly messages: { readonly batches: MessageBatches };
  /** Needed only for the account's option `betas`. */
  readonly beta?: { readonly messages: { readonly batches: MessageBatches } };
}

/**
 * The same methods with a safe `results`. The SDK sends the client's key to any address that the
 * batch names; this one replaces the address of another host by the documented path on the client's
 * host. A custom object is returned unchanged.
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
 * The bytes that the SDK's line parser reads (`JSONLDecoder` of 1.0 and later). The SDK stops at a
 * line that is not JSON; our reader continues after it. Null if the object has no bytes.
 */
export function bytesOf(lines: AsyncIterable<unknown>): AsyncIterable<unknown> | null {
  const { iterator } = objectOf(lines);
  return Symbol.asyncIterator in Object(iterator) ? (iterator as AsyncIterable<unknown>) : null;
}
