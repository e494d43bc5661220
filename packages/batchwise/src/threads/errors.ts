// The errors of the threads layer: BatchwiseError with the core's codes and two more.

import { BatchwiseError, namelessError } from "../core/contract/errors.ts";

/**
 * `THREAD_ENDED`: a thread of `threadHandler` died while it ran a batch. `SAME_THREAD`: a blocking
 * submit would wait for its own thread.
 */
export type ThreadsErrorCode = "THREAD_ENDED" | "SAME_THREAD";

export function threadEndedError(exitCode: number, cause: unknown): BatchwiseError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  const message = `The handler's thread ended with exit code ${exitCode} before it had answered${detail}`;
  return namelessError(
    new BatchwiseError({ code: "THREAD_ENDED" satisfies ThreadsErrorCode, message, retryable: true, cause }),
  );
}

export function sameThreadError(): BatchwiseError {
  const message = "A blocking submit in the batcher's own thread would wait for ever. Use `submit` there.";
  return new BatchwiseError({ code: "SAME_THREAD" satisfies ThreadsErrorCode, message, retryable: false });
}

/** For callers of a connection that was closed, on either side, or whose other thread has ended. */
export function connectionClosedError(): BatchwiseError {
  return new BatchwiseError({ code: "CLOSED", message: "The connection to the batcher is closed.", retryable: false });
}

/**
 * The reason with which items are cancelled when their caller's thread ends or closes its
 * connection.
 */
export function callerGoneError(): BatchwiseError {
  const message = "The thread that submitted the item has ended, or closed its connection.";
  return new BatchwiseError({ code: "CLOSED", message, retryable: false });
}

export function uncloneableResultError(cause: unknown): BatchwiseError {
  const detail = cause instanceof Error ? cause.message : String(cause);
  const message = `Expected a result that can be sent to another thread (structured clone), got: ${detail}`;
  return new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false, cause });
}
