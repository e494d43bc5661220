// The requests of a simulated world, and the kinds of provider that they go to. Pure.

import type { Capabilities } from "../../../../src/dispatch/contract/capabilities.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { ask } from "../world.ts";

export interface Kind {
  readonly tag: Capabilities["tag"];
  readonly maxInlineBytes: number;
}

export const KINDS: readonly Kind[] = [
  { tag: "metadata", maxInlineBytes: 0 },
  { tag: "inputFile", maxInlineBytes: 0 },
  { tag: "none", maxInlineBytes: Infinity },
  { tag: "idempotencyToken", maxInlineBytes: Infinity },
];

/** The provider's answer, derived only from the name, so that the right end is known in advance. */
export function statusOf(identity: string, run: number): number {
  if (identity.startsWith("bad") || identity.startsWith("typo")) return 400;
  if (identity.startsWith("flaky")) return run === 1 ? 500 : 200;
  if (identity.startsWith("silent")) return run === 1 ? -1 : 200;
  if (identity.startsWith("dead")) return 503;
  return 200;
}

/** Requests of two models, whose lanes share the limits of each account. */
export function askOf(name: string): DispatchRequest {
  const { body, ...more } = ask(name);
  return { ...more, body: { ...body, model: name.length % 3 === 0 ? "other" : "m" } };
}
