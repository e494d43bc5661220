// Promises of any kind: an object with a `then`, of this realm or another. Reading `then` may
// throw. Follows or ignores promises that may misbehave.

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** A promise of our own that follows another: it settles once, and rejects if `then` throws. */
export function follow(promise: PromiseLike<unknown>): Promise<unknown> {
  return new Promise((resolve) => {
    resolve(promise);
  });
}

/** Prevents an unhandled rejection of a promise that no code awaits. */
export function ignoreFailure(promise: PromiseLike<unknown>): void {
  follow(promise).catch(() => {});
}

/** The same for any value. Never throws: an unreadable value is no promise. */
export function ignoreIfPromise(value: unknown): void {
  attempt(
    () => value,
    () => {},
  );
}

/**
 * Calls a user function. `failed` gets an error that it throws; `rejected` gets the reason of a
 * rejected promise that it returns.
 */
export function attempt(
  use: () => unknown,
  failed: (error: unknown) => void,
  rejected: (error: unknown) => void = failed,
): void {
  try {
    const returned = use();
    if (isThenable(returned)) follow(returned).catch(rejected);
  } catch (error) {
    failed(error);
  }
}
