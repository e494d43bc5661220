// The parts of a divided batch: two halves, or a canary and the rest. The group of a part's lane
// holds the key of the divided batch and the role of the part. Only this file writes and reads that
// format. Pure.

import type { BatchRow } from "../contract/store/rows.ts";
import { parseLane } from "../format/encode.ts";

/** `canary`: the one request that is sent by itself; `rest` waits for its result. */
type PartRole = "first" | "second" | "canary" | "rest";

interface Part {
  /** The key of the divided batch. */
  readonly whole: string;
  readonly role: PartRole;
}

/** Stored in names of lanes, so a letter never changes. */
const LETTERS: readonly (readonly [letter: string, role: PartRole])[] = [
  ["a", "first"],
  ["b", "second"],
  ["c", "canary"],
  ["r", "rest"],
];

/** The group of a part's lane. Each part has its own, so that two parts never share a batch. */
export function partGroup({ key }: Pick<BatchRow, "key">, role: PartRole): string {
  return `${key}.${LETTERS.find(([, named]) => named === role)?.[0]}`;
}

/** The part that a lane is for; null for an ordinary lane. */
export function partOf({ lane }: Pick<BatchRow, "lane">): Part | null {
  const { group } = parseLane(lane);
  const dot = group.lastIndexOf(".");
  const role = LETTERS.find(([letter]) => letter === group.slice(dot + 1))?.[1];
  return dot < 0 || role === undefined ? null : { whole: group.slice(0, dot), role };
}
