// The turns of a chat in OpenAI's shape as Anthropic wants them: system texts apart, one turn after the other by the two
// sides, tool results inside the user's turn that follows the calls. Pure.

import { DispatchError } from "../../contract/errors.ts";
import type { Json, JsonObject } from "../../contract/types.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk-error.ts";
import { invalid, unsupported } from "./refusal.ts";

export interface Conversation {
  readonly messages: JsonObject[];
  readonly system: Json | undefined;
}

type Side = "user" | "assistant";

interface Turn {
  readonly role: Side;
  readonly blocks: JsonObject[];
}

const DATA_URL = /^data:([^;,]+);base64,(.+)$/s;
const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

export function toConversation(messages: Json | undefined): Conversation {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("`messages` must be a non-empty array");
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`;
    const source = jsonObject(message);
    if (source === null) throw invalid(`\`${place}\` must be an object`);
    if (source.role === "system" || source.role === "developer") system.push(...textBlocks(source.content, place));
    else append(turns, sideOf(source.role, place), blocksOf(source, place));
  }
  if (turns[0]?.role !== "user") throw invalid("the first turn must be the user's");
  return { messages: turns.map(toMessage), system: joined(system) };
}

function sideOf(role: Json | undefined, place: string): Side {
  if (role === "user" || role === "tool") return "user";
  if (role === "assistant") return "assistant";
  throw unsupported(`\`${place}.role\` ${JSON.stringify(role ?? null)}`);
}

/** Turns of one side that follow each other are one: results of parallel calls must come together. */
function append(turns: Turn[], role: Side, blocks: JsonObject[]): void {
  const last = turns.at(-1);
  if (last?.role === role) last.blocks.push(...blocks);
  else if (blocks.length > 0) turns.push({ role, blocks });
}

/** A single plain text is written as such: it is what people write by hand, and shorter. */
function toMessage({ role, blocks }: Turn): JsonObject {
  return { role, content: joinedOne(blocks) ?? blocks };
}

function joined(blocks: readonly JsonObject[]): Json | undefined {
  return blocks.length === 0 ? undefined : (joinedOne(blocks) ?? blocks);
}

function joinedOne(blocks: readonly JsonObject[]): string | null {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "text" && Object.keys(only).length === 2 ? text(only.text) : null;
}

function blocksOf(message: JsonObject, place: string): JsonObject[] {
  if (message.role === "tool") return [toolResult(message, place)];
  if (message.role === "assistant") return assistantBlocks(message, place);
  const blocks = partsOf(message.content, place).map((part, index) => userBlock(part, `${place}.content[${index}]`));
  if (blocks.length === 0) throw invalid(`\`${place}.content\` is empty`);
  return blocks;
}

function assistantBlocks(message: JsonObject, place: string): JsonObject[] {
  if (message.function_call !== undefined && message.function_call !== null)
    throw unsupported(`\`${place}.function_call\``);
  const texts = textBlocks(message.content, place);
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return [...texts, ...calls.map((call, index) => toolUse(call, `${place}.tool_calls[${index}]`))];
}

function toolUse(call: Json, place: string): JsonObject {
  const { id, type = "function", function: called } = objectOf(call);
  const { name, arguments: written } = objectOf(called);
  if (type !== "function" || text(id) === null || text(name) === null)
    throw unsupported(`\`${place}\` other than a function`);
  return { type: "tool_use", id: id as string, name: name as string, input: parseArguments(written, place) };
}

function parseArguments(written: unknown, place: string): JsonObject {
  if (written === undefined || written === null || written === "") return {};
  try {
    const input = jsonObject(JSON.parse(String(written)));
    if (input !== null) return input;
  } catch (error) {
    throw new DispatchError("INVALID_REQUEST", `\`${place}.function.arguments\` is not JSON.`, error);
  }
  throw invalid(`\`${place}.function.arguments\` must be an object`);
}

function toolResult(message: JsonObject, place: string): JsonObject {
  const id = text(message.tool_call_id);
  if (id === null) throw invalid(`\`${place}.tool_call_id\` is missing`);
  const content = joined(textBlocks(message.content, place));
  return { type: "tool_result", tool_use_id: id, ...(content === undefined ? {} : { content }) };
}

/** Text and refusals; empty ones are left out, since Anthropic refuses them. */
function textBlocks(content: Json | undefined, place: string): JsonObject[] {
  return partsOf(content, place).map((part, index) => {
    const words = part.type === "text" ? part.text : part.type === "refusal" ? part.refusal : undefined;
    if (typeof words !== "string") throw unsupported(`\`${place}.content[${index}]\` other than text`);
    return textBlock(words, part);
  });
}

function partsOf(content: Json | undefined, place: string): JsonObject[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw invalid(`\`${place}.content\` must be a text or an array`);
  return content.map((part) => jsonObject(part) ?? {}).filter((part) => part.type !== "text" || part.text !== "");
}

function userBlock(part: JsonObject, place: string): JsonObject {
  switch (part.type) {
    case "text":
      if (typeof part.text !== "string") throw invalid(`\`${place}.text\` must be a text`);
      return textBlock(part.text, part);
    case "image_url":
      return { type: "image", source: imageSource(objectOf(part.image_url).url, place) };
    case "file":
      return documentBlock(objectOf(part.file), place);
    default:
      throw unsupported(`\`${place}\` of type ${JSON.stringify(part.type ?? null)}`);
  }
}

/** Cache marks are kept: clients of several services write them in OpenAI's shape too. */
function textBlock(words: string, { cache_control: mark }: JsonObject): JsonObject {
  return mark === undefined || mark === null
    ? { type: "text", text: words }
    : { type: "text", text: words, cache_control: mark };
}

function imageSource(url: unknown, place: string): JsonObject {
  const [, type, data] = DATA_URL.exec(text(url) ?? "") ?? [];
  if (type !== undefined && data !== undefined && IMAGE_TYPES.has(type)) {
    return { type: "base64", media_type: type, data };
  }
  if (typeof url === "string" && url.startsWith("https://")) return { type: "url", url };
  throw unsupported(`\`${place}\`: an image other than an https address or base64 data of JPEG, PNG, GIF or WebP`);
}

function documentBlock(file: { readonly [key: string]: unknown }, place: string): JsonObject {
  const [, type, data] = DATA_URL.exec(text(file.file_data) ?? "") ?? [];
  if (type !== "application/pdf" || data === undefined) throw unsupported(`\`${place}\`: a file other than PDF data`);
  const title = text(file.filename);
  const source = { type: "base64", media_type: type, data };
  return { type: "document", source, ...(title === null ? {} : { title }) };
}
