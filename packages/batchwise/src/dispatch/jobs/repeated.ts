// What is wrong with a request of a job whose id the store knew already. Pure.

import { DispatchError } from "../contract/errors.ts";
import type { NewRequest, RequestRow } from "../contract/rows.ts";
import type { EnqueueResult } from "../contract/store.ts";
import { idAt, placeIn } from "../format/job-place.ts";

/** The error for the request at `index`; null when the stored one is the same request of the same job. */
export function repeatFault(
  row: NewRequest,
  index: number,
  answer: EnqueueResult,
  stored: RequestRow | undefined,
): DispatchError | null {
  // Of a pruned request only the id and the digest are known.
  const isKnown = stored !== undefined && !(stored.state === "ended" && stored.ended === null);
  if (isKnown && stored.job !== row.job) return taken(otherJob(row, index, stored.job));
  if (answer !== "conflict") return null;
  if (row.id === idAt({ job: row.job, index })) return taken(otherOrder(row, index));
  return taken(otherBody(row, index, isKnown ? indexOf(stored) : -1));
}

function otherJob({ id, job }: NewRequest, index: number, other: string): string {
  const owner = other === "" ? "a request without a job" : `a request of the job "${other}"`;
  return `requests[${index}]: the id "${id}" is taken by ${owner}. Give it an \`id\` that no other job has, such as "${job}:${id}".`;
}

function otherOrder({ job }: NewRequest, index: number): string {
  const rule = "Requests without an `id` must come in the same order, with the same bodies, in each run";
  const ways =
    "give all of them as they were (new ones at the end), give each an `id` of its own, or name another `job`";
  return `requests[${index}] is not the one that an earlier run of the job "${job}" had there. ${rule}: ${ways}.`;
}

function otherBody({ id, job }: NewRequest, index: number, storedIndex: number): string {
  const other = storedIndex >= 0 && storedIndex !== index ? `requests[${storedIndex}]` : "a request";
  const ways = "Send it as before (bodies are compared as text), give it a new `id`, or name another `job`";
  return `requests[${index}]: ${other} of the job "${job}" has the id "${id}" too, with another body or endpoint. ${ways}.`;
}

function indexOf({ metadata }: RequestRow): number {
  return placeIn(metadata === null ? null : (JSON.parse(metadata) as Record<string, string>)).index;
}

function taken(message: string): DispatchError {
  return new DispatchError("DUPLICATE_ID", message);
}
