// The entry "batchwise/dispatch/bedrock": names only.

export { bedrockAccount } from "./account.ts";
export type { BedrockCallOptions, BedrockClient, InvocationJobQuery, InvocationJobRequest } from "./client.ts";
export type { BedrockFamily } from "./family.ts";
export type { BedrockAccountOptions } from "./options.ts";
