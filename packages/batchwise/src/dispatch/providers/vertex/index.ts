// The entry "batchwise/dispatch/vertex": names only.

export { type VertexAccountOptions, vertexAccount } from "./account.ts";
export type { VertexCall, VertexClient, VertexCreate } from "./client.ts";
export type { VertexFamily } from "./family.ts";
