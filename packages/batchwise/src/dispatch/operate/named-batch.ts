// Decides whether one of our batches may be tied to the provider batch that an operator names. A
// match that only results can prove is unverified. Pure.

import { isPast, isTagged, showsNothing } from "../batches/find/adoption.ts";
import type { ProviderBatch } from "../contract/account.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { TagKind } from "../contract/tag-kind.ts";
import type { BatchState } from "../contract/types.ts";

/** States of a batch that waits for an operator or for its provider batch to be found. */
const ADOPTING: readonly BatchState[] = ["quarantined", "unknown"];

export type NamedBatch =
  | { readonly kind: "fits"; readonly verified: boolean }
  | { readonly kind: "refused"; readonly because: string };

/** `others`: our batches that have the provider's batch as their record or among their orphans. */
export function judgeNamed(
  batch: BatchRow,
  tag: TagKind,
  seen: ProviderBatch,
  others: readonly BatchRow[],
): NamedBatch {
  const taken = others.find((other) => other.key !== batch.key && owns(other, seen.id));
  if (taken !== undefined) return refused(`it belongs to batch ${taken.key}`);
  if (seen.tag !== null && seen.tag.key !== batch.key) return refused(`it carries the tag of ${seen.tag.key}`);
  const isOfRecord = batch.providerBatchId === seen.id && batch.verified;
  if (!isOfRecord && isPast(batch, seen, batch.state === "unknown")) {
    return refused(`it may be older than attempt ${batch.submitAttempt}, which may run, and has no results`);
  }
  const { total } = seen;
  if (total !== null && (total < batch.remaining || total > batch.requests)) {
    const open = batch.remaining === batch.requests ? "" : `, ${batch.remaining} of which are open`;
    return refused(`it has ${total} lines, and the batch has ${batch.requests} requests${open}`);
  }
  if (isOfRecord || isTagged(batch, seen)) return { kind: "fits", verified: true };
  if (tag === "metadata") return refused("it does not carry the batch's tag, as all that were made for it do");
  if (tag === "inputFile" && batch.state === "unknown") return refused("it was not made from the batch's file");
  if (total === null) return refused("its provider does not tell yet how many lines it has: try again later");
  if (showsNothing(seen)) return refused("it has ended without results, which would show whose it is");
  return { kind: "fits", verified: false };
}

/** Why the batch may not be tied to any other; null if it may. */
export function whyNotAdopting({ state }: Pick<BatchRow, "state">): string | null {
  return ADOPTING.includes(state) ? null : `is ${state}, and only a batch that is ${ADOPTING.join(" or ")} can adopt`;
}

function owns(other: BatchRow, id: string): boolean {
  if (other.providerBatchId === id) return true;
  return other.orphans.some(({ providerBatchId, action }) => providerBatchId === id && action !== "foreign");
}

function refused(because: string): NamedBatch {
  return { kind: "refused", because };
}
