// Converts the turns of a chat from OpenAI's format to Claude's. Names are from `@anthropic-ai/sdk`
// 1.11 (ContentBlockParam and its parts). `annotations` of earlier answers are omitted, as they
// describe the answer's own text, and `reasoning_content`, as it lacks the signature that Claude
// requires: `thinking_blocks` has it. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import {
  argumentsOf,
  type ChatShape,
  callsOf,
  eachPart,
  type FunctionCall,
  readChat,
  wordsOf,
} from "../openai/chat.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, text } from "../sdk/sdk-error.ts";
import { cacheMark, markLast, RULES, resultBlock, textBlock, userBlock } from "./blocks.ts";
import { refuse } from "./refuse.ts";

export interface Conversation {
  readonly messages: JsonObject[];
  readonly system: Json | undefined;
}

const shape: ChatShape = {
  ...RULES,
  system: (message, place) => markLast(wordBlocks(message, place), message.cache_control),
  user(message, place) {
    const blocks = eachPart(message, place, refuse, userBlock);
    if (blocks.length === 0) throw refuse.invalid(`\`${place}.content\` is empty`);
    return markLast(blocks, message.cache_control);
  },
  assistant: (message, place) => markLast(assistantBlocks(message, place), message.cache_control),
  tool: (message, place) => markLast([toolResult(message, place)], message.cache_control),
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
  const calls = callsOf(message, place, RULES).map(toolUse);
  const whole = blockList(message.content_blocks, `${place}.content_blocks`);
  if (whole !== null) return whole;
  const thoughts = blockList(message.thinking_blocks, `${place}.thinking_blocks`) ?? [];
  const words = wordBlocks(message, place);
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

function toolUse(call: FunctionCall): JsonObject {
  const { id, name, source } = call;
  const input = argumentsOf(call, refuse);
  return dropAbsent({ type: "tool_use", id, name, input, cache_control: cacheMark(source) });
}

function toolResult(message: JsonObject, place: string): JsonObject {
  const id = text(message.tool_call_id);
  if (id === null) throw refuse.invalid(`\`${place}.tool_call_id\` is missing`);
  const content = joined(eachPart(message, place, refuse, resultBlock));
  return dropAbsent({
    type: "tool_result",
    tool_use_id: id,
    content,
    is_error: message.is_error === true ? true : undefined,
  });
}

/** Texts and refusals of a system or assistant message. */
function wordBlocks(message: JsonObject, place: string): JsonObject[] {
  return eachPart(message, place, refuse, (part, at) => textBlock(wordsOf(part, at, RULES), part));
}
