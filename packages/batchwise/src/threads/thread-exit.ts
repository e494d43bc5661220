// Calls functions when this thread ends. Adds one listener to the process, however many functions
// there are, and none if there are none. They are not called in a thread that ends by
// `worker.terminate()`.

const callbacks: Set<() => void> = new Set();

function callAll(): void {
  for (const callback of callbacks) callback();
}

/** Returns a function that removes the callback. */
export function onThreadExit(callback: () => void): () => void {
  if (callbacks.size === 0) process.on("exit", callAll);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size === 0) process.off("exit", callAll);
  };
}
