// Reads a chat in OpenAI's format: the fields of messages and parts, their texts, and function
// calls. Each service converts messages to its own blocks. No field is dropped silently. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { changedNumber } from "../lines/exact-json.ts";
import { checkFields, type Refusals } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { listOf } from "./chat-fields.ts";

/** A message's role; "developer" is "system". */
export type Role = "system" | "user" | "assistant" | "tool";

/** OpenAI's fields of a message. A tool's `name` is implied by the call's id. */
const FIELDS: Readonly<Record<Role, ReadonlySet<string>>> = {
  system: new Set(["role", "content"]),
  user: new Set(["role", "content"]),
  assistant: new Set(["role", "content", "refusal", "tool_calls", "annotations", "reasoning_content"]),
  tool: new Set(["role", "content", "tool_call_id", "name"]),
};
const CALL: ReadonlySet<string> = new Set(["id", "type", "index", "function"]);
/** Fields of the object in a part, which is named after the part's type. */
const INNER = {
  image_url: new Set(["url", "detail"]),
  input_audio: new Set(["data", "format"]),
  file: new Set(["file_data", "file_id", "filename"]),
};
/** Fields of a part by its type. */
const PART = {
  text: new Set(["type", "text"]),
  refusal: new Set(["type", "refusal"]),
  image_url: new Set(["type", "image_url"]),
  input_audio: new Set(["type", "input_audio"]),
  file: new Set(["type", "file"]),
};

/** A service's errors, and its own fields beside OpenAI's: of messages by role, calls and parts. */
export interface ChatRules {
  readonly refuse: Refusals;
  readonly own: { readonly [of in Role | "call" | "part"]?: ReadonlySet<string> };
}

/** Calls `read` with each message in order. Its fields and its role are known. */
export function eachMessage(
  messages: Json | undefined,
  { refuse, own }: ChatRules,
  read: (role: Role, message: JsonObject, place: string) => void,
): void {
  if (!Array.isArray(messages) || messages.length === 0) throw refuse.invalid("`messages` must be a non-empty array");
  for (const [index, value] of messages.entries()) {
    const place = `messages[${index}]`;
    const message = jsonObject(value);
    if (message === null) throw refuse.invalid(`\`${place}\` must be an object`);
    const role = message.role === "developer" ? "system" : message.role;
    if (!isRole(role)) throw refuse.unsupported(`\`${place}.role\` ${JSON.stringify(message.role ?? null)}`);
    checkFields(message, FIELDS[role], place, refuse, own[role]);
    read(role, message, place);
  }
}

function isRole(role: Json | undefined): role is Role {
  return typeof role === "string" && Object.hasOwn(FIELDS, role);
}

type Side = "user" | "assistant";

export interface Turn {
  readonly role: Side;
  readonly blocks: JsonObject[];
}

/**
 * Converts messages to the service's blocks. Throws for content that the service does not support.
 * The result of a call is placed in the user's turn.
 */
export type ChatShape = ChatRules & { [role in Role]: (message: JsonObject, place: string) => JsonObject[] };

/**
 * System texts in order, from anywhere in the chat, and the turns. Consecutive messages of one role
 * form one turn.
 */
export function readChat(messages: Json | undefined, shape: ChatShape): { system: JsonObject[]; turns: Turn[] } {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  eachMessage(messages, shape, (role, message, place) => {
    const blocks = shape[role](message, place);
    if (role === "system") system.push(...blocks);
    else append(turns, role === "tool" ? "user" : role, blocks);
  });
  if (turns[0]?.role !== "user") throw shape.refuse.invalid("the first turn must be the user's");
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

/** Converts each part of a message's content. */
export function eachPart<Block>(
  { content }: JsonObject,
  place: string,
  refuse: Refusals,
  convert: (part: JsonObject, place: string) => Block,
): Block[] {
  return partsOf(content, place, refuse).map((part, index) => convert(part, `${place}.content[${index}]`));
}

/** The words of a text or a refusal. Throws for a part of another type. */
export function wordsOf(part: JsonObject, place: string, { refuse, own }: ChatRules): string {
  const { type } = part;
  if (type !== "text" && type !== "refusal") throw strange(part, place, refuse);
  checkFields(part, PART[type], place, refuse, own.part);
  const words = part[type];
  if (typeof words !== "string") throw refuse.invalid(`\`${place}.${type}\` must be a text`);
  return words;
}

/** The object in an image, audio or file: the part is one. Its fields and the part's are known. */
export function innerOf(part: JsonObject, place: string, { refuse, own }: ChatRules): JsonObject {
  const type = part.type as keyof typeof INNER;
  checkFields(part, PART[type], place, refuse, own.part);
  const inner = jsonObject(part[type]) ?? {};
  checkFields(inner, INNER[type], `${place}.${type}`, refuse);
  return inner;
}

/** The error for a part of a type that the service does not support. */
export function strange({ type }: JsonObject, place: string, refuse: Refusals): Error {
  return refuse.unsupported(`\`${place}\` of type ${JSON.stringify(type ?? null)}`);
}

export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json | undefined;
  /** The call as the message has it. */
  readonly source: JsonObject;
  readonly place: string;
}

/** The calls of an assistant's message. Throws for calls of anything but functions. */
export function callsOf(message: JsonObject, place: string, { refuse, own }: ChatRules): FunctionCall[] {
  return listOf(message.tool_calls, `${place}.tool_calls`, refuse).map((call, index) => {
    const source = jsonObject(call) ?? {};
    const at = `${place}.tool_calls[${index}]`;
    const { name, arguments: given } = objectOf(source.function) as JsonObject;
    const [id, called] = [text(source.id), text(name)];
    if ((source.type ?? "function") !== "function") throw refuse.unsupported(`\`${at}\` other than a function`);
    checkFields(source, CALL, at, refuse, own.call);
    if (id === null || called === null) throw refuse.invalid(`\`${at}\` must have an id and a function's name`);
    return { id, name: called, arguments: given, source, place: at };
  });
}

/** A call's arguments as an object; none if blank. Throws for a number that would change. */
export function argumentsOf({ arguments: given, place }: FunctionCall, refuse: Refusals): JsonObject {
  const words = given ?? "";
  const inner = `\`${place}.function.arguments\``;
  if (typeof words !== "string") throw refuse.invalid(`${inner} must be a text`);
  if (words.trim() === "") return {};
  const input = parsedObject(words);
  if (input === null) throw refuse.invalid(`${inner} must be a JSON object in a text`);
  const changed = changedNumber(words);
  if (changed === null) return input;
  throw refuse.invalid(`${inner} holds ${changed}, which is too large for a number of JavaScript: write it as a text`);
}

/** The JSON object in a text; null for any other text. */
export function parsedObject(words: string): JsonObject | null {
  try {
    return jsonObject(JSON.parse(words));
  } catch {
    return null;
  }
}
