// Finds, in one complete listing, the provider batch of a create whose answer was lost. Pure.
// Matches by our tag or the input file where the provider shows either; else takes one that the
// store does not know, young enough and of equal size. Such a match is unverified: the results
// confirm it, or the adoption is undone.

import { isOlder, type ProviderBatch, type TagKind } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/rows.ts";

export type Adoption =
  | {
      readonly kind: "adopt";
      readonly batch: ProviderBatch;
      /** False when only size and age matched. */
      readonly verified: boolean;
      /** More with our tag: not of record, and to be cancelled. */
      readonly extras: readonly ProviderBatch[];
    }
  /** Nothing of ours is there. */
  | { readonly kind: "absent" }
  /**
   * Something may be ours, but it is too early to tell: look again, and create nothing meanwhile.
   */
  | { readonly kind: "undecided" };

/** What a look found. */
export interface Look {
  /** The listing, back to `since`. */
  readonly listed: readonly ProviderBatch[];
  /** Provider ids that the store knows: of any batch, or recorded as orphans other than foreign. */
  readonly known: ReadonlySet<string>;
  readonly since: number;
  /** True once the grace had passed when the look started. */
  readonly isLast: boolean;
}

export function decideAdoption(batch: BatchRow, tag: TagKind, look: Look): Adoption {
  const over = new Set(batch.orphans.map(({ providerBatchId }) => providerBatchId));
  const listed = look.listed.filter(({ id }) => !over.has(id));
  return tag === "none" ? guess(batch, listed, look) : match(batch, listed);
}

function match(batch: BatchRow, listed: readonly ProviderBatch[]): Adoption {
  const ours = listed.filter((seen) => isTagged(batch, seen)).toSorted(byWorth);
  const [best, ...extras] = ours;
  return best === undefined ? { kind: "absent" } : { kind: "adopt", batch: best, verified: true, extras };
}

/** True where the provider's batch carries our key or was made from our file. */
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
 * A batch that may still give all results first, then a cut one, then a failed one; the oldest of
 * these.
 */
function byWorth(a: ProviderBatch, b: ProviderBatch): number {
  return worth(a) - worth(b) || a.createdAt - b.createdAt;
}

function worth(seen: ProviderBatch): number {
  if (seen.state === "failed") return 2;
  return seen.state === "cancelled" || seen.state === "expired" || seen.state === "cancelling" ? 1 : 0;
}
