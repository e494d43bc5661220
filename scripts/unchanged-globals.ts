// Runs around each unit test file. These files share a process, so a file that leaves a fake timer
// behind would make another file hang. Instead it fails here under its own name, and the next file
// gets the real globals back.

import { afterAll, vi } from "vitest";

type Globals = Record<string, unknown>;

const names = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "queueMicrotask", "Date"];
const current = globalThis as unknown as Globals;
const key = "batchwise: the globals before the first test file";
current[key] ??= Object.fromEntries(names.map((name) => [name, current[name]]));
const real = current[key] as Globals;

afterAll(() => {
  // A spy on a fake would bring that fake back here, even if it was restored before.
  vi.restoreAllMocks();
  const changed = names.filter((name) => current[name] !== real[name]);
  Object.assign(current, real);
  if (changed.length > 0) throw new Error(`Expected the file to leave the globals alone, it changed ${changed}.`);
});
