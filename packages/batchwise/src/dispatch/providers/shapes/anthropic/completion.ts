// Converts Claude's message to a chat completion in OpenAI's format, at Anthropic, Vertex AI and
// Bedrock. Fields without a counterpart keep their names, in `usage` too. If text, reasoning and
// calls do not express the whole content, `content_blocks` has it unchanged. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { usageTogether } from "../counts.ts";
import { jsonText } from "../lines/exact-json.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);
/** Stop reasons that OpenAI's format expresses fully. */
const TOLD: ReadonlySet<unknown> = new Set([undefined, null, "end_turn", "max_tokens", "tool_use", "refusal"]);

/** Block order of an answer that OpenAI's format expresses fully. */
const PLACES: ReadonlyMap<unknown, number> = new Map([
  ["thinking", 0],
  ["redacted_thinking", 0],
  ["text", 1],
  ["tool_use", 2],
]);

/** `createdAt` is the batch's, because a message has none. */
export function toCompletion(message: JsonObject, createdAt: number): JsonObject {
  const {
    id,
    type: _type,
    role: _role,
    model,
    content,
    stop_reason,
    stop_sequence,
    stop_details,
    usage,
    ...own
  } = message;
  const blocks = (Array.isArray(content) ? content : []).map(jsonObject).filter((block) => block !== null);
  return {
    id,
    object: "chat.completion",
    created: Math.floor(createdAt / 1000),
    model,
    choices: [
      {
        index: 0,
        message: toAnswer(blocks, text(objectOf(stop_details).explanation)),
        logprobs: null,
        finish_reason: FINISH_REASONS.get(stop_reason) ?? "stop",
        ...present({ native_finish_reason: TOLD.has(stop_reason) ? null : stop_reason, stop_sequence, stop_details }),
      },
    ],
    usage: toUsageBody(jsonObject(usage) ?? {}),
    ...present(own),
  };
}

function toAnswer(blocks: readonly JsonObject[], refusal: string | null): JsonObject {
  const texts = blocks.filter(({ type }) => type === "text");
  const thoughts = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
  const words = thoughts.flatMap(({ thinking }) => text(thinking) ?? []);
  const calls = blocks.filter(({ type }) => type === "tool_use").map(toToolCall);
  const annotations = toAnnotations(texts);
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.map(wordsOf).join(""),
    refusal,
    ...(words.length === 0 ? {} : { reasoning_content: words.join("") }),
    ...(thoughts.length === 0 ? {} : { thinking_blocks: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(isPlain(blocks) ? {} : { content_blocks: blocks }),
  };
}

function wordsOf(block: JsonObject): string {
  return text(block.text) ?? "";
}

function toToolCall({ id, name, input }: JsonObject): JsonObject {
  return { id, type: "function", function: { name, arguments: jsonText(input ?? {}) } };
}

/** Web citations, which OpenAI's format has: the two indices delimit the text that has them. */
function toAnnotations(texts: readonly JsonObject[]): JsonObject[] {
  const annotations: JsonObject[] = [];
  let start = 0;
  for (const block of texts) {
    const end = start + wordsOf(block).length;
    for (const citation of Array.isArray(block.citations) ? block.citations : []) {
      const { type, url, title } = objectOf(citation) as JsonObject;
      if (type !== "web_search_result_location") continue;
      const place = { url, title: title ?? "", start_index: start, end_index: end };
      annotations.push({ type: "url_citation", url_citation: place });
    }
    start = end;
  }
  return annotations;
}

/**
 * True if the content is reasoning, then text, then calls and nothing else. OpenAI's message
 * expresses it fully.
 */
function isPlain(blocks: readonly JsonObject[]): boolean {
  let last = 0;
  for (const block of blocks) {
    const place = PLACES.get(block.type);
    if (place === undefined || place < last || !hasNoMore(block)) return false;
    last = place;
  }
  return true;
}

function hasNoMore({ citations, caller, toolset_name: toolset }: JsonObject): boolean {
  const isDirect = caller === undefined || caller === null || objectOf(caller).type === "direct";
  return isDirect && (citations ?? null) === null && (toolset ?? null) === null;
}

/** OpenAI's usage. Claude counts cached input separately; `prompt_tokens` includes it. */
function toUsageBody(usage: JsonObject): JsonObject {
  const {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: created,
    output_tokens_details: details,
    ...own
  } = usage;
  const thinking = objectOf(details).thinking_tokens;
  return {
    ...usageTogether({ input, output, read: cached, written: created }),
    ...(typeof thinking === "number" ? { completion_tokens_details: { reasoning_tokens: thinking } } : {}),
    ...present(own),
  };
}

function present(fields: { readonly [name: string]: Json | undefined }): JsonObject {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as JsonObject;
}
