// Converts the turns of a chat from OpenAI's format to Claude's. Names are from `@anthropic-ai/sdk`
// 1.11 (ContentBlockParam and its parts). Refuses by name each message field that Claude does not
// support, except `LEFT_OUT`, which change no answer. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { type ChatShape, callsOf, type FunctionCall, partsOf, readChat } from "../openai/chat.ts";
import { checkFields, dropAbsent } from "../refusals.ts";
import { jsonObject, text } from "../sdk/sdk-error.ts";
import { cacheMark, markLast, resultBlock, textBlock, userBlock } from "./blocks.ts";
import { refuse } from "./refuse.ts";

export interface Conversation {
  readonly messages: JsonObject[];
  readonly system: Json | undefined;
}

/** Fields of a message of any role. `cache_control` marks the message's last block. */
const COMMON = ["role", "content", "cache_control"];
const SYSTEM: ReadonlySet<string> = new Set(COMMON);
const USER: ReadonlySet<string> = SYSTEM;
/** The tool's name is implied by the call's id. */
const TOOL: ReadonlySet<string> = new Set([...COMMON, "tool_call_id", "is_error", "name"]);
/**
 * Fields of earlier answers that are omitted. `reasoning_content` lacks the signature that Claude
 * requires (`thinking_blocks` has it); `annotations` describe the answer's own text.
 */
const LEFT_OUT = ["reasoning_content", "annotations"];
const ASSISTANT: ReadonlySet<string> = new Set([
  ...COMMON,
  ...LEFT_OUT,
  "refusal",
  "tool_calls",
  "thinking_blocks",
  "content_blocks",
]);
const CALL: ReadonlySet<string> = new Set(["id", "type", "index", "function", "cache_control"]);

const shape: ChatShape = {
  refuse,
  system(message, place) {
    checkFields(message, SYSTEM, place, refuse);
    return markLast(wordBlocks(message.content, place), message.cache_control);
  },
  user(message, place) {
    checkFields(message, USER, place, refuse);
    const parts = partsOf(message.content, place, refuse);
    if (parts.length === 0) throw refuse.invalid(`\`${place}.content\` is empty`);
    const blocks = parts.map((part, index) => userBlock(part, `${place}.content[${index}]`));
    return markLast(blocks, message.cache_control);
  },
  assistant(message, place) {
    checkFields(message, ASSISTANT, place, refuse);
    return markLast(assistantBlocks(message, place), message.cache_control);
  },
  tool(message, place) {
    checkFields(message, TOOL, place, refuse);
    return markLast([toolResult(message, place)], message.cache_control);
  },
};

/**
 * Separates system texts, merges messages of one role into turns, and puts tool results into the
 * user's turn after the calls.
 */
export function toConversation(messages: Json | undefined): Conversation {
  const { system, turns } = readChat(messages, shape);
  return {
    messages: turns.map(({ role, blocks }) => ({ role, content: joinedOne(blocks) ?? blocks })),
    system: joined(system),
  };
}

/** A single plain text stays a string: it is shorter and as people write it. */
function joinedOne(blocks: readonly JsonObject[]): string | null {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "text" && Object.keys(only).length === 2 ? text(only.text) : null;
}

function joined(blocks: readonly JsonObject[]): Json | undefined {
  return blocks.length === 0 ? undefined : (joinedOne(blocks) ?? blocks);
}

/**
 * Blocks of an earlier answer. `content_blocks`, if present, is the whole unchanged content, unless
 * its calls are refused: numbers that JavaScript rounded in a block keep all digits in the call.
 * Otherwise reasoning with signatures comes first, as Claude requires before a tool's result.
 */
function assistantBlocks(message: JsonObject, place: string): JsonObject[] {
  const calls = callsOf(message, place, refuse).map((call, index) => toolUse(call, `${place}.tool_calls[${index}]`));
  const whole = blockList(message.content_blocks, `${place}.content_blocks`);
  if (whole !== null) return whole;
  const thoughts = blockList(message.thinking_blocks, `${place}.thinking_blocks`) ?? [];
  const words = wordBlocks(message.content, place);
  const refusal = text(message.refusal);
  const said = refusal === null ? words : [...words, textBlock(refusal, {})];
  return [...thoughts, ...said, ...calls];
}

function blockList(value: Json | undefined, place: string): JsonObject[] | null {
  if (value === undefined || value === null) return null;
  const blocks = Array.isArray(value) ? value.map(jsonObject) : [null];
  if (blocks.some((block) => text(block?.type) === null)) throw refuse.invalid(`\`${place}\` must be a list of blocks`);
  return blocks as JsonObject[];
}

function toolUse({ id, name, input, source }: FunctionCall, place: string): JsonObject {
  checkFields(source, CALL, place, refuse);
  return dropAbsent({ type: "tool_use", id, name, input, cache_control: cacheMark(source) });
}

function toolResult(message: JsonObject, place: string): JsonObject {
  const id = text(message.tool_call_id);
  if (id === null) throw refuse.invalid(`\`${place}.tool_call_id\` is missing`);
  const parts = partsOf(message.content, place, refuse);
  const content = joined(parts.map((part, index) => resultBlock(part, `${place}.content[${index}]`)));
  return dropAbsent({
    type: "tool_result",
    tool_use_id: id,
    content,
    is_error: message.is_error === true ? true : undefined,
  });
}

/** Texts and refusals of a system or assistant message. */
function wordBlocks(content: Json | undefined, place: string): JsonObject[] {
  return partsOf(content, place, refuse).map((part, index) => {
    const words = part.type === "text" ? part.text : part.type === "refusal" ? part.refusal : undefined;
    if (typeof words !== "string") throw refuse.unsupported(`\`${place}.content[${index}]\` other than text`);
    return textBlock(words, part, `${place}.content[${index}]`);
  });
}
