// Calls the store once before the loops start, so that faults for an operator are found during a
// rollout.

import { isPermanentFault } from "../contract/errors.ts";
import { markLoops } from "./loops-mark.ts";
import { onAbort } from "./provider-calls.ts";
import type { Runtime } from "./runtime.ts";

/** Maximum wait, in ms. Then the loops start, and try again. */
const WAITED_MS = 5_000;

/**
 * Writes to the store once. Throws a fault that stays until an operator corrects it. Resolves for
 * all others, which the loops meet and report, and if the store does not answer in time.
 */
export async function refuseBrokenStore(runtime: Runtime): Promise<void> {
  const { clock, stopping } = runtime;
  const call = markLoops(runtime, clock.now()).catch((error: unknown) => {
    if (isPermanentFault(error)) throw error;
  });
  let enough = (): void => {};
  const patience = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const timer = clock.setTimeout(enough, WAITED_MS);
  const forget = onAbort([stopping.signal], enough);
  try {
    await Promise.race([call, patience]);
    if (isPermanentFault(runtime.store.risk)) throw runtime.store.risk;
  } finally {
    clock.clearTimeout(timer);
    forget();
  }
}
