// The entry "batchwise/dispatch/local": names only.

export { localAccount } from "./account.ts";
export type { LocalCall, LocalHandler } from "./handler-call.ts";
export type { LocalAccountOptions } from "./options.ts";
