// What counts as a promise: any object with a `then`, of this realm or of another. Reading a `then`
// may throw. And how to follow or ignore one that may misbehave.

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/**
 * A promise of our own that follows another: it settles once, and a `then` that throws rejects it.
 */
export function follow(promise: PromiseLike<unknown>): Promise<unknown> {
  return new Promise((resolve) => {
    resolve(promise);
  });
}

/** Takes care that a promise nobody asked for ends no process when it rejects. */
export function ignoreFailure(promise: PromiseLike<unknown>): void {
  follow(promise).catch(() => {});
}

/** The same for any value. Never throws: what cannot be read is no promise. */
export function ignoreIfPromise(value: unknown): void {
  attempt(
    () => value,
    () => {},
  );
}

/**
 * Calls a function of the user. What it throws goes to `failed`, and what a promise that it returns
 * rejects with, to `rejected`.
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
