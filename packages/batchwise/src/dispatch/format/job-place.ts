// The place of a request in the `requests` of a job: how it makes an id, and how it is kept in the request's metadata, so
// that whichever process reads the outcome knows it. Pure.

import type { DispatchRequest, LoggedOutcome } from "../contract/types.ts";

/** Where a request stands in a job. */
export interface JobPlace {
  readonly job: string;
  /** Counted from 0. */
  readonly index: number;
}

/** The field of the stored metadata that has the index. No request may bring it along. */
export const INDEX_FIELD = "batchwise.index";
/** Of a request of the job that `requests` did not have. */
const NO_INDEX = -1;

type Metadata = LoggedOutcome["metadata"];

/** The id of a request that has none of its own: the same in each run that repeats the order. */
export function idAt({ job, index }: JobPlace): string {
  return `${job}:${index}`;
}

export function metadataAt({ index }: JobPlace, given: DispatchRequest["metadata"]): Readonly<Record<string, string>> {
  return { ...given, [INDEX_FIELD]: String(index) };
}

/** What the caller gave, and the index that was added. An empty object cannot be told from none. */
export function placeIn(stored: Metadata): { readonly index: number; readonly metadata: Metadata } {
  const { [INDEX_FIELD]: index, ...metadata } = stored ?? {};
  if (index === undefined) return { index: NO_INDEX, metadata: stored };
  return { index: Number(index), metadata: Object.keys(metadata).length === 0 ? null : metadata };
}
