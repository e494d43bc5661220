// Reads a chat in OpenAI's format for services with separate system texts and alternating turns:
// Anthropic's messages, and Bedrock's Converse. Each service converts messages to its own blocks.
// Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { changedNumber } from "../lines/exact-json.ts";
import type { Refusals } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { listOf } from "./chat-fields.ts";

type Side = "user" | "assistant";

export interface Turn {
  readonly role: Side;
  readonly blocks: JsonObject[];
}

/**
 * Converts messages to the service's blocks. Throws for content that the service does not support.
 */
export interface ChatShape {
  readonly refuse: Refusals;
  system(message: JsonObject, place: string): JsonObject[];
  user(message: JsonObject, place: string): JsonObject[];
  assistant(message: JsonObject, place: string): JsonObject[];
  /** The result of one call; it is placed in the user's turn. */
  tool(message: JsonObject, place: string): JsonObject[];
}

export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The call as the message has it. */
  readonly source: JsonObject;
}

/**
 * System texts in order, from anywhere in the chat, and the turns. Consecutive messages of one role
 * form one turn.
 */
export function readChat(messages: Json | undefined, shape: ChatShape): { system: JsonObject[]; turns: Turn[] } {
  const { refuse } = shape;
  if (!Array.isArray(messages) || messages.length === 0) throw refuse.invalid("`messages` must be a non-empty array");
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`;
    const source = jsonObject(message);
    if (source === null) throw refuse.invalid(`\`${place}\` must be an object`);
    switch (source.role) {
      case "system":
      case "developer":
        system.push(...shape.system(source, place));
        break;
      case "user":
        append(turns, "user", shape.user(source, place));
        break;
      case "tool":
        append(turns, "user", shape.tool(source, place));
        break;
      case "assistant":
        append(turns, "assistant", shape.assistant(source, place));
        break;
      default:
        throw refuse.unsupported(`\`${place}.role\` ${JSON.stringify(source.role ?? null)}`);
    }
  }
  if (turns[0]?.role !== "user") throw refuse.invalid("the first turn must be the user's");
  return { system, turns };
}

/**
 * Adds blocks to the last turn if the role is the same: services want parallel results in one turn.
 */
function append(turns: Turn[], role: Side, blocks: JsonObject[]): void {
  const last = turns.at(-1);
  if (last?.role === role) last.blocks.push(...blocks);
  else if (blocks.length > 0) turns.push({ role, blocks });
}

/** The parts of a content. A plain text is one part. Omits empty texts, which services refuse. */
export function partsOf(content: Json | undefined, place: string, refuse: Refusals): JsonObject[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw refuse.invalid(`\`${place}.content\` must be a text or an array`);
  return content.map((part) => jsonObject(part) ?? {}).filter((part) => part.type !== "text" || part.text !== "");
}

/** The calls of an assistant's message. Throws for calls of anything but functions. */
export function callsOf(message: JsonObject, place: string, refuse: Refusals): FunctionCall[] {
  const calls = listOf(message.tool_calls, `${place}.tool_calls`, refuse);
  return calls.map((call, index) => readCall(call, `${place}.tool_calls[${index}]`, refuse));
}

function readCall(call: Json, place: string, refuse: Refusals): FunctionCall {
  const source = jsonObject(call) ?? {};
  const { id, type = "function", function: called } = source;
  const { name, arguments: written } = objectOf(called);
  if (type !== "function" || text(id) === null || text(name) === null) {
    throw refuse.unsupported(`\`${place}\` other than a function`);
  }
  return { id: id as string, name: name as string, input: parseArguments(written, place, refuse), source };
}

function parseArguments(written: unknown, place: string, refuse: Refusals): JsonObject {
  if (written === undefined || written === null || written === "") return {};
  const inner = `\`${place}.function.arguments\``;
  let input: JsonObject | null;
  try {
    input = jsonObject(JSON.parse(String(written)));
  } catch (error) {
    throw refuse.invalid(`${inner} is not JSON`, error);
  }
  if (input === null) throw refuse.invalid(`${inner} must be an object`);
  checkNumbers(String(written), inner, refuse);
  return input;
}

/** Throws for a number that would change: arguments are sent as an object. */
export function checkNumbers(written: string, place: string, refuse: Refusals): void {
  const changed = changedNumber(written);
  if (changed === null) return;
  throw refuse.invalid(`${place} holds ${changed}, which is too large for a number of JavaScript: write it as a text`);
}
