// The entry "batchwise/dispatch/anthropic": names only.

export { type AnthropicAccountOptions, anthropicAccount } from "./account.ts";
export type { AnthropicClient, CallSettings, MessageBatchBody, MessageBatchQuery, NoParams } from "./client.ts";
