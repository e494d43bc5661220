// The requests of the fault simulation: what they ask for and how they end, told from their names alone.

import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { ask } from "./world.ts";

/** What the provider answers, told from the name alone, so that the right end is known beforehand. */
export function statusOf(identity: string, run: number): number {
  if (identity.startsWith("bad")) return 400;
  if (identity.startsWith("flaky")) return run === 1 ? 500 : 200;
  if (identity.startsWith("silent")) return run === 1 ? -1 : 200;
  if (identity.startsWith("dead")) return 503;
  return 200;
}

/** Of two models, whose lanes share the limits of each account. */
export function askOf(name: string): DispatchRequest {
  const { body, ...more } = ask(name);
  return { ...more, body: { ...body, model: name.length % 3 === 0 ? "other" : "m" } };
}
