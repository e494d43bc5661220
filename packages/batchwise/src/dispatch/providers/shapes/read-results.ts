// The results of a batch, out of one or several sources. A result that cannot be read costs its own request alone: all
// others are given before its error is thrown.

import type { ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";

/**
 * The results of all sources, each opened when the one before it is read. Rejects at once with whatever a source rejects
 * with, but for RESULTS_UNREADABLE: with the first of these it rejects at the end.
 */
export async function* readResults<Source, Value>(
  sources: Iterable<Source> | AsyncIterable<Source>,
  open: (source: Source) => AsyncIterable<Value>,
  toLine: (value: Value) => ResultLine,
): AsyncGenerator<ResultLine> {
  let unreadable: DispatchError | null = null;
  for await (const source of sources) {
    try {
      for await (const value of open(source)) {
        const line = lineOrError(value, toLine);
        if (line instanceof DispatchError) unreadable ??= line;
        else yield line;
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable ??= error;
    }
  }
  if (unreadable !== null) throw unreadable;
}

function lineOrError<Value>(value: Value, toLine: (value: Value) => ResultLine): ResultLine | DispatchError {
  try {
    return toLine(value);
  } catch (error) {
    if (isUnreadable(error)) return error;
    return new DispatchError("RESULTS_UNREADABLE", "A result has a shape that cannot be converted.", error);
  }
}

function isUnreadable(error: unknown): error is DispatchError {
  return error instanceof DispatchError && error.code === "RESULTS_UNREADABLE";
}
