// The name of a batch with our key and attempt in it, for services that give batches a name and
// return it in lists. Pure.

import type { BatchName, ProviderBatch } from "../../contract/account.ts";

const TAG = /^batchwise-([0-9A-Z]{26})-(\d{1,9})$/;

/** The name of our batches. */
export function displayNameOf({ key, attempt }: Pick<BatchName, "key" | "attempt">): string {
  return `batchwise-${key}-${attempt}`;
}

/** The tag in a name; null if it is not ours. */
export function readTag(displayName: string | null): ProviderBatch["tag"] {
  const [, key, attempt] = TAG.exec(displayName ?? "") ?? [];
  return key === undefined ? null : { key, attempt: Number(attempt) };
}
