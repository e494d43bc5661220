// The moment before a process ends by itself: nothing is left in its event loop. One listener of
// the process for all callbacks of this package, and none while there is no callback. Without a
// process nothing is ever called.

interface Process {
  on(event: "beforeExit", listener: () => void): unknown;
  removeListener(event: "beforeExit", listener: () => void): unknown;
}

const callbacks: Set<() => void> = new Set();

/**
 * Calls back each time the event loop of the process has run empty, until the function that this
 * returns is called. What the callback starts keeps the process alive as usual. A process that
 * calls `process.exit()` does not get here.
 */
export function beforeExit(callback: () => void): () => void {
  const { process } = globalThis as { readonly process?: Partial<Process> };
  if (callbacks.size === 0) process?.on?.("beforeExit", callAll);
  callbacks.add(callback);
  return () => {
    if (callbacks.delete(callback) && callbacks.size === 0) process?.removeListener?.("beforeExit", callAll);
  };
}

function callAll(): void {
  for (const callback of [...callbacks]) callback();
}
