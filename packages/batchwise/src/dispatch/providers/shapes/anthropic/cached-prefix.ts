// The part of Claude's params that a request shares with others in the prompt cache: its blocks up
// to the last one that is cached for an hour, or else for five minutes. Pure.

import { createHash } from "node:crypto";
import type { CachedPrefix } from "../../../contract/cached-prefix.ts";
import type { Json, JsonObject } from "../../../contract/types.ts";
import { jsonObject } from "../sdk/sdk-error.ts";

const HOUR = 3_600_000;
const FIVE_MINUTES = 300_000;

/** null for params without a block that has `cache_control`. */
export function cachedPrefix(params: JsonObject): CachedPrefix | null {
  const { tools, system, messages, tool_choice: choice, thinking } = params;
  const blocks = [...blocksOf(tools), ...blocksOf(system)];
  const before = blocks.length;
  for (const message of blocksOf(messages)) {
    for (const block of blocksOf(message.content)) blocks.push({ role: message.role ?? null, block });
  }
  const lasts = blocks.map((block) => lastsMs(block));
  const ofHour = lasts.lastIndexOf(HOUR);
  const last = ofHour >= 0 ? ofHour : lasts.lastIndexOf(FIVE_MINUTES);
  if (last < 0) return null;
  const digest = createHash("sha1");
  // A change of these two keeps the cache of tools and system valid.
  if (last >= before) digest.update(JSON.stringify([choice, thinking]));
  for (const block of blocks.slice(0, last + 1)) digest.update(JSON.stringify(block));
  return { digest: digest.digest("base64url"), lastsMs: lasts[last] as number };
}

function blocksOf(list: Json | undefined): JsonObject[] {
  if (typeof list === "string") return [{ type: "text", text: list }];
  return Array.isArray(list) ? list.map(jsonObject).filter((block) => block !== null) : [];
}

function lastsMs({ block, ...own }: JsonObject): number {
  const mark = jsonObject((jsonObject(block) ?? own).cache_control);
  if (mark === null) return 0;
  return mark.ttl === "1h" ? HOUR : FIVE_MINUTES;
}
