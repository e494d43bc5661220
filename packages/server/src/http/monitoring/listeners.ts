/**
 * Listeners of the service: functions that its starter gives for logs and warnings.
 *
 * Guarantees: a listener that throws, rejects or is not a function stops neither a request nor the
 * process. The fault is reported once for each listener, as a warning of Node.js.
 */

type Listener<Value> = (value: Value) => unknown;

/** The listener, as one that never throws. `name`: for the warning. */
export function guarded<Value>(name: string, listener: Listener<Value> | undefined): (value: Value) => void {
  let isReported = false;
  const report = (fault: unknown): void => {
    if (isReported) return;
    isReported = true;
    const message = `The listener \`${name}\` failed: ${wordsOf(fault)}. The service continues; later faults of it are not reported.`;
    process.emitWarning(message, { code: "LISTENER_FAILED" });
  };
  return (value) => {
    if (listener === undefined) return;
    try {
      // For a value that is not a promise, only a getter of `then` can throw.
      Promise.resolve(listener(value)).catch(report);
    } catch (fault) {
      report(fault);
    }
  };
}

function wordsOf(fault: unknown): string {
  try {
    return fault instanceof Error ? String(fault.message) : String(fault);
  } catch {
    return "it threw a value that cannot be read";
  }
}
