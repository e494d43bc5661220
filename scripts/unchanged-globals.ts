// Runs around each test file. Files share a process: a fake timer that one leaves behind would make
// another hang, and a listener would fail another's count. So the file that leaves one fails here,
// and the next file gets the real globals, environment and listeners back.

import { afterAll, vi } from "vitest";

type Values = Record<string, unknown>;

const names = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "queueMicrotask", "Date"];
const events = ["exit", "SIGINT", "SIGTERM", "uncaughtException", "unhandledRejection", "warning"];
/** Which sharp and onnxruntime-node set once, as they load. */
const ofLibraries = ["VIPSHOME", "ORT_DISABLE_TELEMETRY"];
const current = globalThis as unknown as Values;
const key = "batchwise: the globals before the first test file";
current[key] ??= Object.fromEntries(names.map((name) => [name, current[name]]));
const real = current[key] as Values;
const variables = { ...process.env };
const listeners = listenersOf();

function listenersOf(): ReadonlyMap<string, readonly unknown[]> {
  return new Map(events.map((event) => [event, process.rawListeners(event)]));
}

/** The variables that the file has changed. Restores them. */
function restoreVariables(): string[] {
  const all = Object.keys({ ...variables, ...process.env });
  const changed = all.filter((name) => process.env[name] !== variables[name] && !ofLibraries.includes(name));
  for (const name of changed) {
    if (variables[name] === undefined) delete process.env[name];
    else process.env[name] = variables[name];
  }
  return changed.map((name) => `process.env.${name}`);
}

/** The events for which the file has left listeners. Removes these. */
function removeListeners(): string[] {
  const changed: string[] = [];
  for (const [event, now] of listenersOf()) {
    const left = now.filter((listener) => listeners.get(event)?.includes(listener) !== true);
    for (const listener of left) process.removeListener(event, listener as () => void);
    if (left.length > 0) changed.push(`listeners of ${event}`);
  }
  return changed;
}

afterAll(() => {
  // A spy on a fake would bring that fake back here, even if it was restored before.
  vi.restoreAllMocks();
  const changed = names.filter((name) => current[name] !== real[name]);
  Object.assign(current, real);
  const left = [...changed, ...restoreVariables(), ...removeListeners()];
  if (left.length > 0)
    throw new Error(`Expected the file to leave its process as it was, it changed ${left.join(", ")}.`);
});
