// The entry "batchwise/dispatch/voyage": names only.

export type { OpenAiClient } from "../openai/client.ts";
export { type VoyageAccountOptions, voyageAccount } from "./account.ts";
