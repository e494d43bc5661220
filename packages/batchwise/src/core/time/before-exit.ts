// Calls back when the event loop of a process is empty, before the process ends. All callbacks of
// this package share one listener of the process, which exists only while there are callbacks.
// Without a process, nothing is called.

interface Process {
  on(event: "beforeExit", listener: () => void): unknown;
  removeListener(event: "beforeExit", listener: () => void): unknown;
}

const callbacks: Set<() => void> = new Set();

/**
 * Calls back each time the process's event loop has become empty, until the returned function is
 * called. Work that the callback starts keeps the process alive as usual. Not called after
 * `process.exit()`.
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
