// Makes the results of `enqueue` and `enqueueMany` from the store's answers. Pure.

import { takenIdsError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { Enqueued, EnqueuedMany } from "../../contract/types.ts";

export function enqueued({ id }: NewRequest, answer: EnqueueResult | undefined): Enqueued {
  return { id, existing: answer === "same" };
}

/**
 * `answers` has one entry for each row. Throws for ids that are taken; `rest` says what has become
 * of the other rows.
 */
export function enqueuedMany(
  rows: readonly NewRequest[],
  answers: readonly EnqueueResult[],
  rest: (others: number) => string,
): EnqueuedMany {
  const place = answers.indexOf("conflict");
  if (place >= 0) {
    const taken = answers.filter((answer) => answer === "conflict").length;
    throw takenIdsError(place, (rows[place] as NewRequest).id, taken, rest(rows.length - taken));
  }
  const list: Enqueued[] = rows.map((row, index) => enqueued(row, answers[index]));
  const existingCount = list.filter(({ existing }) => existing).length;
  // Not enumerable: the array equals a plain one with the same entries.
  return Object.defineProperty(list, "existingCount", { value: existingCount }) as EnqueuedMany;
}
