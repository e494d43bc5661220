// The entry "batchwise/dispatch/bedrock": names only.

export { type BedrockAccountOptions, bedrockAccount } from "./account.ts";
export type { BedrockCallOptions, BedrockClient, InvocationJobQuery, InvocationJobRequest } from "./client.ts";
export type { BedrockFamily } from "./family.ts";
