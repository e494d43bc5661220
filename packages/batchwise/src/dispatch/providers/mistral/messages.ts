// Converts the messages of a chat, and the ids of tool calls, from OpenAI's format to Mistral's.
// Keeps their order, chunks of Mistral's own types, `prefix`, and reasoning from our earlier
// answers. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { type ChatRules, callsOf, eachMessage, innerOf, type Role, strange, wordsOf } from "../shapes/openai/chat.ts";
import { readDataUrl } from "../shapes/openai/data-url.ts";
import { dropAbsent } from "../shapes/refusals.ts";
import { jsonObject, text } from "../shapes/sdk/sdk-error.ts";
import { invalid, isGiven, refuse } from "./refusal.ts";

/** Cache marks, which do not change the answer. */
const MARKS: readonly string[] = ["cache_control", "prompt_cache_breakpoint"];
const RULES: ChatRules = { refuse, own: { assistant: new Set(["prefix", "thinking_blocks"]), part: new Set(MARKS) } };
/** A file of Mistral's own has its id beside the type. */
const FILE: ChatRules = { refuse, own: { part: new Set([...MARKS, "file_id"]) } };
/** Chunks of Mistral's own, sent unchanged. */
const OWN_CHUNKS: readonly Json[] = ["document_url", "reference", "thinking"];
const PARTS: Readonly<Record<Role, readonly string[]>> = {
  system: ["text"],
  user: ["text", "image_url", "input_audio", "file"],
  assistant: ["text", "refusal"],
  tool: ["text", "image_url"],
};

export function toMessages(messages: Json | undefined): JsonObject[] {
  const ids = new ToolCallIds();
  const converted: JsonObject[] = [];
  eachMessage(messages, RULES, (role, message, place) => {
    if (role === "assistant") converted.push(toAssistant(message, place, ids));
    else if (role === "tool") converted.push(toToolResult(message, place, ids));
    else converted.push({ role, content: toContent(message, place, role) });
  });
  return converted;
}

function toAssistant(message: JsonObject, place: string, ids: ToolCallIds): JsonObject {
  const { content, refusal, prefix } = message;
  const words = saidBy(isGiven(content) ? toContent(message, place, "assistant") : undefined, refusal);
  const thoughts = toThoughts(message);
  const calls = callsOf(message, place, RULES).map(({ id, name, arguments: written }) => {
    return { id: ids.of(id), type: "function", function: { name, arguments: written ?? "{}" } };
  });
  return dropAbsent({
    role: "assistant",
    content: thoughts.length === 0 ? words : [...thoughts, ...chunksOf(words)],
    tool_calls: calls.length === 0 ? undefined : calls,
    prefix: prefix ?? undefined,
  });
}

/** Appends a refusal to the text. */
function saidBy(words: Json | undefined, refusal: Json | undefined): Json | undefined {
  if (text(refusal) === null) return words;
  const said = chunksOf(words);
  return said.length === 0 ? refusal : [...said, ...chunksOf(refusal)];
}

/** Reasoning chunks, unchanged if the earlier answer had them, because they may be signed. */
function toThoughts({ thinking_blocks: blocks, reasoning_content: words }: JsonObject): readonly Json[] {
  if (Array.isArray(blocks) && blocks.length > 0) return blocks;
  return text(words) === null ? [] : [{ type: "thinking", thinking: [{ type: "text", text: words as string }] }];
}

function chunksOf(words: Json | undefined): readonly Json[] {
  if (Array.isArray(words)) return words;
  return words === undefined || words === "" ? [] : [{ type: "text", text: words }];
}

function toToolResult(message: JsonObject, place: string, ids: ToolCallIds): JsonObject {
  const id = text(message.tool_call_id);
  if (id === null) throw invalid(`\`${place}.tool_call_id\` is missing`);
  const content = toContent(message, place, "tool");
  return dropAbsent({ role: "tool", tool_call_id: ids.of(id), content, name: message.name ?? undefined });
}

/** Unlike other services, Mistral takes empty texts. */
function toContent({ content }: JsonObject, place: string, role: Role): Json {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw invalid(`\`${place}.content\` must be a text or an array`);
  return content.map((each: Json, index) => {
    const part = jsonObject(each) ?? {};
    const at = `${place}.content[${index}]`;
    if (isGiven(part.type) && OWN_CHUNKS.includes(part.type)) return part;
    if (!PARTS[role].includes(String(part.type))) throw strange(part, at, refuse);
    return toChunk(part, at);
  });
}

function toChunk(part: JsonObject, place: string): JsonObject {
  switch (part.type) {
    case "image_url":
      return { type: "image_url", image_url: toImage(part, place) };
    case "input_audio":
      return { type: "input_audio", input_audio: toAudio(part, place) };
    case "file":
      return toDocument(part, place);
    default:
      return { type: "text", text: wordsOf(part, place, RULES) };
  }
}

/** Mistral also accepts a bare address instead of the object. */
function toImage(part: JsonObject, place: string): Json {
  const { url, detail } = innerOf(part, place, RULES);
  if (text(part.image_url) !== null) return part.image_url as string;
  if (text(url) === null) throw invalid(`\`${place}.image_url.url\` is missing`);
  return dropAbsent({ url, detail: detail ?? undefined });
}

/** Base64 or an address. Mistral detects the format itself. */
function toAudio(part: JsonObject, place: string): string {
  const { data } = innerOf(part, place, RULES);
  const given = text(part.input_audio) ?? text(data);
  if (given === null) throw invalid(`\`${place}.input_audio.data\` is missing`);
  return given;
}

function toDocument(part: JsonObject, place: string): JsonObject {
  const file = innerOf(part, place, FILE);
  const id = text(part.file_id) ?? text(file.file_id);
  if (id !== null) return { type: "file", file_id: id };
  const data = text(file.file_data);
  if (data === null || readDataUrl(data) === null) throw invalid(`\`${place}.file\` must have a file_id or a data URL`);
  return dropAbsent({ type: "document_url", document_url: data, document_name: file.filename ?? undefined });
}

const FITS = /^[A-Za-z0-9]{9}$/;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 9;
/** FNV-1a, 64 bits. */
const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;

/**
 * The ids of one request's tool calls. Mistral requires exactly nine letters and digits, and
 * OpenAI's are longer. Each other id is replaced by one of that form, equal in the call and in its
 * result, and by the same one each time.
 */
export class ToolCallIds {
  readonly #given: Map<string, string> = new Map();
  readonly #taken: Set<string> = new Set();

  /** The id that Mistral gets for this one. */
  of(id: string): string {
    const known = this.#given.get(id);
    if (known !== undefined) return known;
    let own = FITS.test(id) ? id : nineOf(id);
    for (let turn = 1; this.#taken.has(own); turn += 1) own = nineOf(`${id} ${turn}`);
    this.#taken.add(own);
    this.#given.set(id, own);
    return own;
  }
}

function nineOf(text: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  const base = BigInt(ALPHABET.length);
  let nine = "";
  for (let left = hash; nine.length < LENGTH; left /= base) nine += ALPHABET[Number(left % base)];
  return nine;
}
