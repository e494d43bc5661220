// The entry "batchwise/dispatch/mistral": names only.

export { type MistralAccountOptions, mistralAccount } from "./account.ts";
export type {
  MistralCallSettings,
  MistralClient,
  MistralFileQuery,
  MistralJobBody,
  MistralJobQuery,
} from "./client.ts";
