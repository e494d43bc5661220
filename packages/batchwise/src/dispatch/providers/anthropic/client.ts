// The part of the official `@anthropic-ai/sdk` client (1.0 and later) that the adapter calls, by shape: nothing is
// imported from the SDK, and its answers are read as unknown JSON.

import type { CallSettings } from "../shapes/sdk-call.ts";

export interface MessageBatchBody {
  readonly requests: { readonly custom_id: string; readonly params: object }[];
}

export interface MessageBatchQuery {
  readonly limit?: number;
  readonly after_id?: string;
}

/** The second argument holds parameters that we never set. */
export type NoParams = Readonly<Record<never, never>>;

export interface AnthropicClient {
  readonly messages: {
    readonly batches: {
      create(body: MessageBatchBody, call: CallSettings): PromiseLike<unknown>;
      retrieve(batchId: string, params: NoParams, call: CallSettings): PromiseLike<unknown>;
      list(query: MessageBatchQuery, call: CallSettings): PromiseLike<unknown>;
      cancel(batchId: string, params: NoParams, call: CallSettings): PromiseLike<unknown>;
      /** Result lines, parsed, as they arrive. */
      results(batchId: string, params: NoParams, call: CallSettings): PromiseLike<AsyncIterable<unknown>>;
    };
  };
}
