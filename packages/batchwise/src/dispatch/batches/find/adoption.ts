// Finds, in one complete listing, the provider batch of a create whose answer was lost. Matches by
// our tag or input file if the provider shows one; else takes an unknown batch that is young enough
// and has the same size. Such a match is unverified: its results confirm it, or the adoption is
// undone. Pure.

import { hasEnded, isOlder, type ProviderBatch } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { TagKind } from "../../contract/tag-kind.ts";
import { CLOCK_SKEW_MS } from "../life-cycle.ts";
import { failureIn } from "../poll/after-poll.ts";

export type Adoption =
  | {
      readonly kind: "adopt";
      readonly batch: ProviderBatch;
      /** False if only size and age matched. */
      readonly verified: boolean;
      /** Other batches with our tag: duplicates to cancel. */
      readonly extras: readonly ProviderBatch[];
    }
  /** No batch is ours. */
  | { readonly kind: "absent" }
  /**
   * A batch may be ours, but it is too early to decide: look again, and create nothing meanwhile.
   */
  | { readonly kind: "undecided" };

/** The result of a look. */
export interface Look {
  /** The listing, back to `since`. */
  readonly listed: readonly ProviderBatch[];
  /** Provider ids in the store: of any batch, or recorded as orphans other than foreign. */
  readonly known: ReadonlySet<string>;
  readonly since: number;
  /** True if the grace had passed when the look started. */
  readonly isLast: boolean;
}

export function decideAdoption(batch: BatchRow, tag: TagKind, look: Look): Adoption {
  const over = new Set(batch.orphans.map(({ providerBatchId }) => providerBatchId));
  const listed = look.listed.filter(({ id }) => !over.has(id));
  return tag === "none" ? guess(batch, listed, look) : match(batch, listed, look);
}

function match(batch: BatchRow, listed: readonly ProviderBatch[], { isLast }: Look): Adoption {
  const ours = listed.filter((seen) => isTagged(batch, seen));
  const past = (seen: ProviderBatch): number => Number(isPast(batch, seen, !isLast));
  const [best, ...extras] = ours.toSorted((a, b) => past(a) - past(b) || byWorth(a, b));
  if (best === undefined || past(best)) return { kind: "absent" };
  return { kind: "adopt", batch: best, verified: true, extras };
}

/**
 * True for a batch that failed, expired or was cancelled with nothing to read, and may be of an
 * earlier attempt. The last attempt may still run, so the requests must not be sent again because
 * of this one. A file does not tell attempts apart, and clocks differ: while the last attempt may
 * show up (`isOpen`), any such batch of our file counts.
 */
export function isPast(batch: BatchRow, seen: ProviderBatch, isOpen: boolean): boolean {
  if (seen.state === "done" || !showsNothing(seen)) return false;
  if (seen.tag !== null) return seen.tag.attempt < batch.submitAttempt;
  if (batch.submitAttempt < 2) return false;
  return isOpen || isOlder(seen, (batch.submitStartedAt ?? batch.createdAt) - CLOCK_SKEW_MS);
}

/** True if it has ended, and there are no results. */
export function showsNothing(seen: ProviderBatch): boolean {
  if (seen.state === "failed") return failureIn(seen) !== null;
  return hasEnded(seen) && seen.resultRefs.length === 0 && (seen.ran ?? 0) === 0;
}

/** True if the provider's batch has our key or was made from our file. */
export function isTagged(batch: Pick<BatchRow, "key" | "providerFileId">, seen: ProviderBatch): boolean {
  if (seen.tag !== null) return seen.tag.key === batch.key;
  return seen.inputFileId !== null && seen.inputFileId === batch.providerFileId;
}

function guess(batch: BatchRow, listed: readonly ProviderBatch[], look: Look): Adoption {
  const young = listed.filter((seen) => !isOlder(seen, look.since) && !look.known.has(seen.id));
  const fits = young.filter((seen) => seen.total === batch.remaining);
  const unsized = young.some((seen) => seen.total === null);
  const nearest = fits.toSorted((a, b) => distance(batch, a) - distance(batch, b))[0];
  if (nearest === undefined) return { kind: unsized ? "undecided" : "absent" };
  const isAlone = fits.length === 1 && !unsized;
  if (!isAlone && !look.isLast) return { kind: "undecided" };
  return { kind: "adopt", batch: nearest, verified: false, extras: [] };
}

function distance(batch: BatchRow, seen: ProviderBatch): number {
  return Math.abs(seen.createdAt - (batch.submitStartedAt ?? batch.createdAt));
}

/**
 * Sorts batches that may still give all results first, then a cut one, then a failed one; the
 * oldest of these.
 */
function byWorth(a: ProviderBatch, b: ProviderBatch): number {
  return worth(a) - worth(b) || a.createdAt - b.createdAt;
}

function worth(seen: ProviderBatch): number {
  if (seen.state === "failed") return 2;
  return seen.state === "cancelled" || seen.state === "expired" || seen.state === "cancelling" ? 1 : 0;
}
