/**
 * A concurrency limit around the handler, for peers without one: p-limit, as their users would add
 * it.
 */
import pLimit from "p-limit";
import type { Handler } from "./contract.ts";

export function limited(handler: Handler, slots: number): Handler {
  if (slots === Number.POSITIVE_INFINITY) return handler;
  const limit = pLimit(slots);
  return (items) => limit(() => handler(items));
}
