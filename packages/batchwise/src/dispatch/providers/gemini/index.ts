// The entry "batchwise/dispatch/gemini": names only.

export { type GeminiAccountOptions, geminiAccount } from "./account.ts";
export type { GeminiWebhookConfig } from "./batch-extras.ts";
export type { GeminiClient, GeminiUpload } from "./client.ts";
