// The errors of the stream layer. Mistakes of a streaming handler have the code BATCH_RESULT, as
// the same mistakes of a plain handler do.

import { BatchwiseError, describe, namelessError, notOneEach } from "../core/contract/errors.ts";

/** The error of a handler that returns a value without rounds. */
export function noRoundsError(returned: unknown): BatchwiseError {
  return batchResult(`Expected the handler to return an async iterable of rounds, got ${describe(returned)}.`);
}

/** The error of a handler whose iterator returns a value that is not an iterator result. */
export function noStepError(step: unknown): BatchwiseError {
  return batchResult(`Expected the handler's iterator to give objects with done and value, got ${describe(step)}.`);
}

/**
 * For a handler that yields a value which is not a round for `expected` callers. `isList`: the
 * handler returned an array.
 */
export function roundError(round: unknown, expected: number, isList: boolean): BatchwiseError {
  const hint = " It returned an array, which is read as a list of rounds; batch() takes handlers that return results.";
  return batchResult(notOneEach("yield", "place", round, expected) + (isList ? hint : ""));
}

/** The error of a hole in a round of the right length. An explicit `undefined` is a chunk. */
export function holeError(round: ArrayLike<unknown>, index: number): BatchwiseError {
  return batchResult(notOneEach("yield", "place", round, round.length, index));
}

/** The error of a caller that did not read while others waited. */
export function stalledError(maxStallMs: number, maxBufferedChunks: number): BatchwiseError {
  const message = `The stream was not read while others waited ${maxStallMs} ms for it (maxStallMs): more than ${maxBufferedChunks} chunks were unread (maxBufferedChunks).`;
  return namelessError(new BatchwiseError({ code: "STREAM_STALLED", message, retryable: true }));
}

function batchResult(message: string): BatchwiseError {
  return namelessError(new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false }));
}
