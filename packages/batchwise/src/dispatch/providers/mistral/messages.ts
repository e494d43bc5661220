// Converts the messages of a chat, and the ids of tool calls, from OpenAI's format to Mistral's.
// Keeps their order, chunks of Mistral's own types, `prefix`, and reasoning from our earlier
// answers. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { readDataUrl } from "../shapes/openai/data-url.ts";
import { dropAbsent } from "../shapes/refusals.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { invalid, isGiven, refuseFields, unsupported } from "./refusal.ts";

/** Cache marks, which do not change the answer. */
const MARKS: readonly string[] = ["cache_control", "prompt_cache_breakpoint"];
/** Chunks of Mistral's own, sent unchanged. */
const OWN_CHUNKS: readonly Json[] = ["document_url", "reference", "thinking"];

export function toMessages(messages: Json | undefined): JsonObject[] {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("`messages` must be a non-empty array");
  const ids = new ToolCallIds();
  return messages.map((each: Json, index) => {
    const place = `messages[${index}]`;
    const message = jsonObject(each);
    if (message === null) throw invalid(`\`${place}\` must be an object`);
    return toMessage(message, `${place}.`, ids);
  });
}

function toMessage(message: JsonObject, place: string, ids: ToolCallIds): JsonObject {
  const { role, content } = message;
  switch (role) {
    case "system":
    case "developer":
      refuseFields(place, message, ["role", "content"]);
      return { role: "system", content: toContent(content, place, ["text"]) };
    case "user":
      refuseFields(place, message, ["role", "content"]);
      return { role, content: toContent(content, place, ["text", "image_url", "input_audio", "file"]) };
    case "assistant":
      return toAssistant(message, place, ids);
    case "tool":
      return toToolResult(message, place, ids);
    default:
      throw unsupported(`\`${place}role\` ${JSON.stringify(role ?? null)}`);
  }
}

function toAssistant(message: JsonObject, place: string, ids: ToolCallIds): JsonObject {
  const own = ["prefix", "reasoning_content", "thinking_blocks"];
  refuseFields(place, message, ["role", "content", "refusal", "tool_calls", "annotations", ...own]);
  const { content, refusal, tool_calls: calls, prefix } = message;
  const words = saidBy(isGiven(content) ? toContent(content, place, ["text", "refusal"]) : undefined, refusal);
  const thoughts = toThoughts(message);
  return dropAbsent({
    role: "assistant",
    content: thoughts.length === 0 ? words : [...thoughts, ...chunksOf(words)],
    tool_calls: isGiven(calls) ? toToolCalls(calls, place, ids) : undefined,
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

function toToolCalls(calls: Json, place: string, ids: ToolCallIds): JsonObject[] | undefined {
  if (!Array.isArray(calls)) throw invalid(`\`${place}tool_calls\` must be an array`);
  const converted = calls.map((call: Json, index) => {
    const { id, type = "function", function: called } = objectOf(call);
    const { name, arguments: written } = objectOf(called) as JsonObject;
    const at = `${place}tool_calls[${index}]`;
    if (type !== "function") throw unsupported(`\`${at}\` of type ${JSON.stringify(type)}`);
    refuseFields(`${at}.`, objectOf(call) as JsonObject, ["id", "type", "function", "index"]);
    if (text(id) === null || text(name) === null) throw invalid(`\`${at}\` must have an id and a function's name`);
    return { id: ids.of(id as string), type: "function", function: { name, arguments: written ?? "{}" } };
  });
  return converted.length === 0 ? undefined : converted;
}

function toToolResult(message: JsonObject, place: string, ids: ToolCallIds): JsonObject {
  refuseFields(place, message, ["role", "content", "tool_call_id", "name"]);
  const id = text(message.tool_call_id);
  if (id === null) throw invalid(`\`${place}tool_call_id\` is missing`);
  const content = toContent(message.content, place, ["text", "image_url"]);
  return dropAbsent({ role: "tool", tool_call_id: ids.of(id), content, name: message.name ?? undefined });
}

function toContent(content: Json | undefined, place: string, types: readonly string[]): Json {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw invalid(`\`${place}content\` must be a text or an array`);
  return content.map((each: Json, index) => {
    const part = jsonObject(each) ?? {};
    const at = `${place}content[${index}]`;
    if (isGiven(part.type) && OWN_CHUNKS.includes(part.type)) return part;
    if (!types.includes(String(part.type))) throw unsupported(`\`${at}\` of type ${JSON.stringify(part.type ?? null)}`);
    return toChunk(part, `${at}.`);
  });
}

function toChunk(part: JsonObject, place: string): JsonObject {
  const field = String(part.type);
  // A file of Mistral's own has its id beside the type.
  refuseFields(place, part, ["type", field, ...MARKS, ...(field === "file" ? ["file_id"] : [])]);
  switch (field) {
    case "image_url":
      return { type: "image_url", image_url: toImage(part.image_url, place) };
    case "input_audio":
      return { type: "input_audio", input_audio: toAudio(part.input_audio, place) };
    case "file":
      return toDocument(part, place);
    default: {
      const words = part[field];
      if (typeof words !== "string") throw invalid(`\`${place}${field}\` must be a text`);
      return { type: "text", text: words };
    }
  }
}

/** Mistral also accepts a bare address instead of the object. */
function toImage(image: Json | undefined, place: string): Json {
  if (text(image) !== null) return image as string;
  const source = jsonObject(image) ?? {};
  refuseFields(`${place}image_url.`, source, ["url", "detail"]);
  if (text(source.url) === null) throw invalid(`\`${place}image_url.url\` is missing`);
  return dropAbsent({ url: source.url, detail: source.detail ?? undefined });
}

/** Base64 or an address. Mistral detects the format itself. */
function toAudio(audio: Json | undefined, place: string): string {
  const data = text(audio) ?? text(objectOf(audio).data);
  if (data === null) throw invalid(`\`${place}input_audio.data\` is missing`);
  return data;
}

function toDocument(part: JsonObject, place: string): JsonObject {
  const own = text(part.file_id);
  if (own !== null) return { type: "file", file_id: own };
  const file = jsonObject(part.file) ?? {};
  refuseFields(`${place}file.`, file, ["file_id", "file_data", "filename"]);
  const id = text(file.file_id);
  if (id !== null) return { type: "file", file_id: id };
  const data = text(file.file_data);
  if (data === null || readDataUrl(data) === null) throw invalid(`\`${place}file\` must have a file_id or a data URL`);
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
