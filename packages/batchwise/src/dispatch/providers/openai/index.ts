// The entry "batchwise/dispatch/openai": names only.

export type { CallSettings } from "../shapes/sdk/sdk-call.ts";
export { openaiAccount } from "./account.ts";
export { type OpenAiService, type OpenAiServiceName, openaiServices } from "./capabilities.ts";
export type { BatchCreateBody, OpenAiClient, PageQuery, RawCall, UploadSource } from "./client.ts";
export type { Extras } from "./extras.ts";
export type { OpenAiAccountOptions } from "./options.ts";
export type { TogetherClient } from "./together-client.ts";
export type { UploadFacts } from "./uploads.ts";
