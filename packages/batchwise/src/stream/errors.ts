// The errors of the stream layer: what a streaming handler can get wrong. Both have the code BATCH_RESULT, as the same
// mistakes of a plain handler have.

import { BatchwiseError, describe, resultLength } from "../core/contract/errors.ts";

/** The handler returned something that gives no rounds. */
export function noRoundsError(returned: unknown): BatchwiseError {
  const message = `Expected the handler to return an async iterable of rounds, got ${describe(returned)}.`;
  return new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false });
}

/** The handler yielded something that cannot be dealt out to `expected` callers. */
export function roundError(round: unknown, expected: number): BatchwiseError {
  const length = resultLength(round);
  const message =
    length === undefined
      ? `Expected the handler to yield an array of ${expected} places, one per item, got ${describe(round)}.`
      : `Expected the handler to yield ${expected} places, one per item, got ${length}.`;
  return new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false });
}
