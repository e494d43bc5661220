// What counts as a promise: any object with a `then`, whoever made it. Reading a `then` may throw.

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
