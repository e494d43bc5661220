// Our key and attempt in what services keep of a batch and return in lists: its name or its
// metadata. Pure.

import type { BatchName, ProviderBatch } from "../../contract/account.ts";
import { objectOf, text } from "./sdk/sdk-error.ts";

type Name = Pick<BatchName, "key" | "attempt">;

/** The beginning of our batches' names. */
const NAME = "batchwise-";
const TOKEN = /^([0-9A-Z]{26})-(\d{1,9})$/;
/** The field of the metadata with the key. */
export const TAG_KEY = "batchwise_key";
const TAG_ATTEMPT = "batchwise_attempt";

/** The key and the attempt in one word. */
export function tokenOf({ key, attempt }: Name): string {
  return `${key}-${attempt}`;
}

/** The tag in such a word; null if it is none. */
export function readToken(token: string | null): ProviderBatch["tag"] {
  const [, key, attempt] = TOKEN.exec(token ?? "") ?? [];
  return key === undefined ? null : { key, attempt: Number(attempt) };
}

/** The name of our batches: letters, digits and hyphens. */
export function displayNameOf(name: Name): string {
  return NAME + tokenOf(name);
}

/** The tag in a name; null if it is not ours. */
export function readTag(displayName: string | null): ProviderBatch["tag"] {
  return displayName?.startsWith(NAME) === true ? readToken(displayName.slice(NAME.length)) : null;
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
