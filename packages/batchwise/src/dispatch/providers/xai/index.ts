// The entry "batchwise/dispatch/xai": names only.

export { type XaiAccountOptions, xaiAccount } from "./account.ts";
export type { XaiClient, XaiGet, XaiPost } from "./client.ts";
