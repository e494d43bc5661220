// Lanes of requests that share a cached prefix: beside the lane of a model's other requests there
// are eight slots with four lanes each. One slot fills while first requests of the others run.
// Pure.

import { laneName, parseLane } from "../../format/encode.ts";

export const CACHE_SLOTS = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;
export type CacheSlot = (typeof CACHE_SLOTS)[number];

/**
 * `first`: one request of each prefix, sent before the others. `next`: another one of each, sent
 * before the rest if a first one fails. `late`: requests of the rest that cannot wait any longer
 * because of their deadline.
 */
export type CacheRole = "first" | "next" | "rest" | "late";

export interface CacheLane {
  /** The lane of the model's other requests. */
  readonly base: string;
  readonly slot: CacheSlot;
  readonly role: CacheRole;
}

/** The last mark of a lane without a group. */
const CACHED = /^\S+#([a-h])-(first|next|rest|late) {2}/;

/** null for other lanes, parts of split batches and urgent requests: these wait for no other. */
export function cacheLaneOf(name: string): CacheLane | null {
  const [, slot, role] = CACHED.exec(name) ?? [];
  if (slot === undefined || role === undefined) return null;
  const lane = parseLane(name);
  if (lane.urgent) return null;
  return { base: laneName({ ...lane, cached: "" }), slot: slot as CacheSlot, role: role as CacheRole };
}

export function cacheLaneName({ base, slot, role }: CacheLane): string {
  return laneName({ ...parseLane(base), cached: `${slot}-${role}` });
}
