// Reads the results of a batch from one or several sources. An unreadable result costs only its own
// request: the error is thrown after all others. A result that cannot be converted is a failure of
// the request that it names.

import type { ResultLine } from "../../../contract/account.ts";
import { DispatchError, OUTCOME_CODES } from "../../../contract/errors.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";

/**
 * The results of all sources, one source after the other. Rejects at once with a source's error,
 * except RESULTS_UNREADABLE: with the first of these it rejects at the end.
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
        else if (line !== null) yield line;
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable ??= error;
    }
  }
  if (unreadable !== null) throw unreadable;
}

/**
 * The converted line or its error. null for a value that cannot be converted and names no request.
 */
function lineOrError<Value>(value: Value, toLine: (value: Value) => ResultLine): ResultLine | DispatchError | null {
  try {
    return toLine(value);
  } catch (error) {
    if (isUnreadable(error)) return error;
    const customId = nameIn(value);
    return customId === null ? null : unconverted(customId, error);
  }
}

/** The request that a result names, in any provider's field. */
function nameIn(value: unknown): string | null {
  const { custom_id, batch_request_id, recordId, key, metadata } = objectOf(value);
  return text(custom_id) ?? text(batch_request_id) ?? text(recordId) ?? text(key) ?? text(objectOf(metadata).key);
}

/** The failure of a request whose result cannot be converted. Throws RESULTS_UNREADABLE again. */
export function unconverted(customId: string, thrown: unknown): ResultLine {
  if (isUnreadable(thrown)) throw thrown;
  const words = String((thrown as Error | null)?.message ?? thrown);
  const message = `The provider's result has a shape that cannot be converted: ${words}.`;
  return { customId, response: null, error: { code: OUTCOME_CODES.unreadable, message }, usage: null };
}

function isUnreadable(error: unknown): error is DispatchError {
  return error instanceof DispatchError && error.code === "RESULTS_UNREADABLE";
}
