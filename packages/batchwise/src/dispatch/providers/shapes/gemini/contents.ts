// Converts the messages of a chat from OpenAI's format to Gemini's contents: separate instructions,
// two roles, and results of parallel calls in the one turn after the calls. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { checkKnown, isAbsent } from "./fields.ts";
import type { Detail } from "./generation-config.ts";
import { audioPart, detailOf, filePart, imagePart } from "./media.ts";
import { invalid, unsupported } from "./refusal.ts";
import { callParts, resultPart, signatureOf } from "./tool-turns.ts";

export interface Contents {
  readonly contents: JsonObject[];
  /** Parts of the system instruction; may be empty. */
  readonly system: JsonObject[];
  readonly detail: Detail;
}

/** Cache marks change the cost of a request, not its answer. */
const CACHE_MARKS = ["prompt_cache_breakpoint", "cache_control"];

/** Throws INVALID_REQUEST, naming the path. */
export function toContents(messages: Json | undefined, model: string): Contents {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("`messages` must be a non-empty array");
  const reader = new Reader(model);
  for (const [index, message] of messages.entries()) reader.read(message, `messages[${index}]`);
  return reader.end();
}

/** Reads the messages in order. */
class Reader {
  readonly #model: string;
  readonly #contents: { readonly role: "user" | "model"; readonly parts: JsonObject[] }[] = [];
  readonly #system: JsonObject[] = [];
  readonly #details: Set<Detail> = new Set();
  /** Function names by call id: Gemini's results carry the name. */
  readonly #calls: Map<string, string> = new Map();
  /** The turn for consecutive results. */
  #results: JsonObject[] | null = null;

  constructor(model: string) {
    this.#model = model;
  }

  read(value: Json, place: string): void {
    const message = jsonObject(value);
    if (message === null) throw invalid(`\`${place}\` must be an object`);
    if (message.role === "tool") {
      this.#addResult(message, place);
      return;
    }
    this.#results = null;
    if (message.role === "system" || message.role === "developer") this.#addSystem(message, place);
    else if (message.role === "user") this.#addUser(message, place);
    else if (message.role === "assistant") this.#addAssistant(message, place);
    else throw unsupported(`\`${place}.role\` ${JSON.stringify(message.role ?? null)}`);
  }

  end(): Contents {
    if (this.#contents.length === 0) throw invalid("`messages` must hold more than instructions");
    const details = [...this.#details];
    if (details.length > 1) throw unsupported("a request whose images differ in `detail`");
    return { contents: this.#contents, system: this.#system, detail: details[0] ?? null };
  }

  #addSystem(message: JsonObject, place: string): void {
    checkKnown(place, message, ["role", "content"]);
    this.#system.push(...textParts(message.content, place));
  }

  #addUser(message: JsonObject, place: string): void {
    checkKnown(place, message, ["role", "content"]);
    const parts = partsOf(message.content, place).map((part, index) =>
      this.#userPart(part, `${place}.content[${index}]`),
    );
    if (parts.length === 0) throw invalid(`\`${place}.content\` is empty`);
    this.#contents.push({ role: "user", parts });
  }

  #userPart(part: JsonObject, place: string): JsonObject {
    const { type } = part;
    if (type === "text") return textPart(part, place);
    if (type !== "image_url" && type !== "input_audio" && type !== "file") {
      throw unsupported(`\`${place}\` of type ${JSON.stringify(type ?? null)}`);
    }
    checkKnown(place, part, ["type", type, ...CACHE_MARKS]);
    const [given, inner] = [objectOf(part[type]) as JsonObject, `${place}.${type}`];
    if (type === "input_audio") return audioPart(given, inner);
    if (type === "file") return filePart(given, inner);
    this.#details.add(detailOf(given));
    return imagePart(given, inner);
  }

  /** Omits reasoning and annotations of earlier answers, which have no effect as history. */
  #addAssistant(message: JsonObject, place: string): void {
    const said = ["role", "content", "refusal", "tool_calls", "images", "extra_content"];
    checkKnown(place, message, [...said, "reasoning_content", "annotations"]);
    const parts = textParts(message.content, place);
    sign(parts, message, place);
    if (text(message.refusal) !== null) parts.push({ text: text(message.refusal) });
    parts.push(...imageParts(message.images, `${place}.images`));
    parts.push(...callParts(message.tool_calls, place, this.#model, this.#calls));
    if (parts.length === 0) throw invalid(`\`${place}\` has neither content nor calls`);
    this.#contents.push({ role: "model", parts });
  }

  /**
   * Results of parallel calls share a turn: Gemini wants as many results in it as there were calls.
   */
  #addResult(message: JsonObject, place: string): void {
    checkKnown(place, message, ["role", "content", "tool_call_id", "name"]);
    const words = textParts(message.content, place).map((part) => text(part.text) ?? "");
    const part = resultPart(message, words.join(""), place, this.#calls);
    if (this.#results === null) {
      this.#results = [];
      this.#contents.push({ role: "user", parts: this.#results });
    }
    this.#results.push(part);
  }
}

/** Texts and refusals. Omits empty ones, because Gemini refuses a part without data. */
function textParts(content: Json | undefined, place: string): JsonObject[] {
  return partsOf(content, place).map((part, index) => {
    const inner = `${place}.content[${index}]`;
    if (part.type === "refusal") return { text: String(part.refusal) };
    if (part.type !== "text") throw unsupported(`\`${inner}\` other than text`);
    return textPart(part, inner);
  });
}

function partsOf(content: Json | undefined, place: string): JsonObject[] {
  if (isAbsent(content) || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw invalid(`\`${place}.content\` must be a text or an array`);
  return content.map((part) => jsonObject(part) ?? {}).filter((part) => part.type !== "text" || part.text !== "");
}

function textPart(part: JsonObject, place: string): JsonObject {
  checkKnown(place, part, ["type", "text", ...CACHE_MARKS]);
  if (typeof part.text !== "string") throw invalid(`\`${place}.text\` must be a text`);
  return { text: part.text };
}

/** Images of an earlier answer; each has its own signature. */
function imageParts(images: Json | undefined, place: string): JsonObject[] {
  if (isAbsent(images)) return [];
  if (!Array.isArray(images)) throw invalid(`\`${place}\` must be an array`);
  return images.map((image, index) => {
    const [source, inner] = [objectOf(image) as JsonObject, `${place}[${index}]`];
    checkKnown(inner, source, ["type", "index", "image_url", "extra_content"]);
    const part = imagePart(objectOf(source.image_url) as JsonObject, inner);
    return dropAbsent({ ...part, thoughtSignature: signatureOf(source) ?? undefined });
  });
}

/** Puts the signature back on the last part, which may be an empty text. */
function sign(parts: JsonObject[], message: JsonObject, place: string): void {
  const signature = signatureOf(message);
  if (signature === null) return;
  const last = message.content === "" && parts.length === 0 ? { text: "" } : parts.pop();
  if (last === undefined) throw invalid(`\`${place}.extra_content\` has a signature, but the message has no text`);
  parts.push({ ...last, thoughtSignature: signature });
}
