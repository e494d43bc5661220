// The entry "batchwise/dispatch/vertex": names only.

export { vertexAccount } from "./account.ts";
export type { VertexCall, VertexClient, VertexCreate } from "./client.ts";
export type { VertexFamily } from "./family.ts";
export type { VertexAccountOptions } from "./options.ts";
