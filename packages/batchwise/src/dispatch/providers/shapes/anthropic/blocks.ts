// Converts message parts from OpenAI's format to Claude's blocks. A part may also be a block of
// Claude's own (a document with citations, a search result), which is kept. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { type ChatRules, innerOf, strange, wordsOf } from "../openai/chat.ts";
import { readDataUrl } from "../openai/data-url.ts";
import { dropAbsent } from "../refusals.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/**
 * OpenAI's `prompt_cache_breakpoint` and Claude's `cache_control` mean the same: cache the prompt
 * up to here.
 */
const MARKS = ["cache_control", "prompt_cache_breakpoint"];
/** `cache_control` marks a message's last block. */
const CACHED: ReadonlySet<string> = new Set(["cache_control"]);
export const RULES: ChatRules = {
  refuse,
  own: {
    system: CACHED,
    user: CACHED,
    assistant: new Set(["cache_control", "thinking_blocks", "content_blocks"]),
    tool: new Set(["cache_control", "is_error"]),
    call: CACHED,
    part: new Set([...MARKS, "citations"]),
  },
};
const FILE: ChatRules = { refuse, own: { part: new Set([...MARKS, "citations", "context"]) } };
/** `detail` is how OpenAI scales an image; Claude has no such setting. */
const IMAGE: ChatRules = { refuse, own: { part: new Set(MARKS) } };

/** Blocks that are kept: UserMessageParam and ToolResultBlockParam.content of SDK 1.11. */
const OWN_IN_TURN: ReadonlySet<unknown> = new Set(["image", "document", "search_result", "container_upload"]);
const OWN_IN_RESULT: ReadonlySet<unknown> = new Set([
  "image",
  "document",
  "search_result",
  "tool_reference",
  "browser_state",
]);

/** A part of a user's message. */
export function userBlock(part: JsonObject, place: string): JsonObject {
  return OWN_IN_TURN.has(part.type) ? part : convertedBlock(part, place);
}

/** A part of a tool's result. */
export function resultBlock(part: JsonObject, place: string): JsonObject {
  return OWN_IN_RESULT.has(part.type) ? part : convertedBlock(part, place);
}

function convertedBlock(part: JsonObject, place: string): JsonObject {
  switch (part.type) {
    case "text":
      return textBlock(wordsOf(part, place, RULES), part);
    case "image_url": {
      const { url } = innerOf(part, place, IMAGE);
      return dropAbsent({ type: "image", source: imageSource(url, place), cache_control: cacheMark(part) });
    }
    case "file":
      return documentBlock(part, innerOf(part, place, FILE), place);
    default:
      throw strange(part, place, refuse);
  }
}

/** `source`: the part that the text comes from. */
export function textBlock(words: string, source: JsonObject): JsonObject {
  const citations = source.citations ?? undefined;
  return dropAbsent({ type: "text", text: words, citations, cache_control: cacheMark(source) });
}

export function cacheMark(source: JsonObject): Json | undefined {
  const { mode } = objectOf(source.prompt_cache_breakpoint);
  return source.cache_control ?? (mode === "explicit" ? { type: "ephemeral" } : undefined);
}

/** Puts a message's mark on its last block, unless the block has its own. */
export function markLast(blocks: JsonObject[], mark: Json | undefined): JsonObject[] {
  const last = blocks.at(-1);
  if (mark === undefined || mark === null || last === undefined || last.cache_control !== undefined) return blocks;
  return [...blocks.slice(0, -1), { ...last, cache_control: mark }];
}

function imageSource(url: unknown, place: string): JsonObject {
  const data = readDataUrl(url);
  if (data !== null && IMAGE_TYPES.has(data.type)) return { type: "base64", media_type: data.type, data: data.data };
  if (typeof url === "string" && url.startsWith("https://")) return { type: "url", url };
  throw refuse.unsupported(
    `\`${place}\`: an image other than an https address or base64 data of JPEG, PNG, GIF or WebP`,
  );
}

function documentBlock(part: JsonObject, file: JsonObject, place: string): JsonObject {
  return dropAbsent({
    type: "document",
    source: documentSource(file, place),
    title: text(file.filename) ?? undefined,
    citations: part.citations ?? undefined,
    context: part.context ?? undefined,
    cache_control: cacheMark(part),
  });
}

function documentSource(file: JsonObject, place: string): JsonObject {
  const id = text(file.file_id);
  if (id !== null && file.file_data === undefined) return { type: "file", file_id: id };
  const data = readDataUrl(file.file_data);
  if (data?.type === "application/pdf") return { type: "base64", media_type: data.type, data: data.data };
  throw refuse.unsupported(`\`${place}\`: a file other than PDF data or the id of a file there`);
}
