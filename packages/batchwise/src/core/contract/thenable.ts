// What counts as a promise: any object with a `then`, whoever made it. Reading a `then` may throw.

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** Takes care that a promise nobody asked for ends no process when it rejects. */
export function ignoreFailure(promise: PromiseLike<unknown>): void {
  Promise.resolve(promise).catch(() => {});
}
