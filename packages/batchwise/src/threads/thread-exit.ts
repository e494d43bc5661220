// Calls what must still happen when this thread ends. One listener of the process, however many
// ask, and none when nobody does. A thread that is ended by `worker.terminate()` tells nobody.

const callbacks: Set<() => void> = new Set();

function callAll(): void {
  for (const callback of callbacks) callback();
}

/** Returns the function that ends it. */
export function onThreadExit(callback: () => void): () => void {
  if (callbacks.size === 0) process.on("exit", callAll);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size === 0) process.off("exit", callAll);
  };
}
