// The entry "batchwise/dispatch/anthropic": names only.

export type { CallSettings } from "../shapes/sdk/sdk-call.ts";
export { type AnthropicAccountOptions, anthropicAccount } from "./account.ts";
export type {
  AnthropicClient,
  MessageBatchBody,
  MessageBatches,
  MessageBatchParams,
  MessageBatchQuery,
} from "./client.ts";
