// Handles Ctrl-C and SIGTERM: the first signal requests a clean stop, the next ends the process at
// once.

const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;

// A package manager forwards the Ctrl-C that the terminal has already sent to all processes.
// Signals within this many ms count as one.
const ONE_PRESS_MS = 500;

/** Calls back once, at the first signal. Returns a function that stops listening. */
export function onStopSignal(first: (signal: "SIGINT" | "SIGTERM") => void): () => void {
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      first(signal as "SIGINT" | "SIGTERM");
    } else if (now - firstAt > ONE_PRESS_MS) {
      stopListening();
      // Uses the system's own handling: process.exit would abort inside a running model.
      process.kill(process.pid, signal);
    }
  };
  const stopListening = (): void => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return stopListening;
}
