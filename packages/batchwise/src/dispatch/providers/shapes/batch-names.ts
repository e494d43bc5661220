// Our key and attempt in what services keep of a batch and return in lists: its name or its
// metadata. Pure.

import type { BatchName, ProviderBatch } from "../../contract/account.ts";
import { objectOf, text } from "./sdk/sdk-error.ts";

type Name = Pick<BatchName, "key" | "attempt">;

const TAG = /^batchwise-([0-9A-Z]{26})-(\d{1,9})$/;
/** The field of the metadata with the key. */
export const TAG_KEY = "batchwise_key";
const TAG_ATTEMPT = "batchwise_attempt";

/** The name of our batches: letters, digits and hyphens. */
export function displayNameOf({ key, attempt }: Name): string {
  return `batchwise-${key}-${attempt}`;
}

/** The tag in a name; null if it is not ours. */
export function readTag(displayName: string | null): ProviderBatch["tag"] {
  const [, key, attempt] = TAG.exec(displayName ?? "") ?? [];
  return key === undefined ? null : { key, attempt: Number(attempt) };
}

/** The metadata of our batches. */
export function tagMetadata({ key, attempt }: Name): Record<string, string> {
  return { [TAG_KEY]: key, [TAG_ATTEMPT]: String(attempt) };
}

/** The tag in metadata; null if there is none. */
export function tagIn(metadata: unknown): ProviderBatch["tag"] {
  const { [TAG_KEY]: named, [TAG_ATTEMPT]: number } = objectOf(metadata);
  const [key, attempt] = [text(named), Number(number)];
  return key === null || !Number.isSafeInteger(attempt) ? null : { key, attempt };
}
