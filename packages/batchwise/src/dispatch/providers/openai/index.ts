// The entry "batchwise/dispatch/openai": names only.

export type { CallSettings } from "../shapes/sdk-call.ts";
export { type OpenAiAccountOptions, openaiAccount } from "./account.ts";
export { type OpenAiService, type OpenAiServiceName, openaiServices } from "./capabilities.ts";
export type { BatchCreateBody, OpenAiClient, PageQuery, UploadSource } from "./client.ts";
