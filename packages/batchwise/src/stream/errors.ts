// The errors of the stream layer. What a streaming handler can get wrong has the code BATCH_RESULT,
// as the same mistakes of a plain handler have.

import { BatchwiseError, countOf, describe, namelessError, resultLength } from "../core/contract/errors.ts";

/** The handler returned something that gives no rounds. */
export function noRoundsError(returned: unknown): BatchwiseError {
  return batchResult(`Expected the handler to return an async iterable of rounds, got ${describe(returned)}.`);
}

/** The handler's own iterator answered with something else than a step. */
export function noStepError(step: unknown): BatchwiseError {
  return batchResult(`Expected the handler's iterator to give objects with done and value, got ${describe(step)}.`);
}

/**
 * The handler yielded something that is no round for `expected` callers. `isList`: it had returned
 * an array.
 */
export function roundError(round: unknown, expected: number, isList: boolean): BatchwiseError {
  const length = resultLength(round);
  const message =
    length === undefined
      ? `Expected the handler to yield an array of ${countOf(expected, "place")}, one per item, got ${describe(round)}.`
      : `Expected the handler to yield ${countOf(expected, "place")}, one per item, got ${length}.`;
  const hint = " It returned an array, which is read as a list of rounds; batch() takes handlers that return results.";
  return batchResult(isList ? message + hint : message);
}

/** For a hole in a round of the right length. An explicit `undefined` is a chunk. */
export function holeError(index: number, length: number): BatchwiseError {
  return batchResult(
    `Expected the handler to yield ${countOf(length, "place")}, one per item, got none at index ${index}.`,
  );
}

/** For a caller who did not read while others waited. */
export function stalledError(maxStallMs: number, maxBufferedChunks: number): BatchwiseError {
  const message = `The stream was not read while others waited ${maxStallMs} ms for it (maxStallMs): more than ${maxBufferedChunks} chunks were unread (maxBufferedChunks).`;
  return namelessError(new BatchwiseError({ code: "STREAM_STALLED", message, retryable: true }));
}

function batchResult(message: string): BatchwiseError {
  return namelessError(new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false }));
}
