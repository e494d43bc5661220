// Converts the messages of a chat from OpenAI's format to Gemini's contents: separate instructions,
// two roles, and results of parallel calls in the one turn after the calls. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { type ChatRules, eachMessage, eachPart, innerOf, type Role, wordsOf } from "../openai/chat.ts";
import { dropAbsent } from "../refusals.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import type { Detail } from "./generation-config.ts";
import { audioPart, detailOf, filePart, imagePart } from "./media.ts";
import { invalid, isAbsent, refuse, unsupported } from "./refusal.ts";
import { callParts, resultPart, signatureOf } from "./tool-turns.ts";

export interface Contents {
  readonly contents: JsonObject[];
  /** Parts of the system instruction; may be empty. */
  readonly system: JsonObject[];
  readonly detail: Detail;
}

/**
 * Cache marks change the cost of a request, not its answer. Reasoning and annotations of earlier
 * answers are omitted, because they have no effect as history.
 */
const RULES: ChatRules = {
  refuse,
  own: {
    assistant: new Set(["images", "extra_content"]),
    call: new Set(["extra_content"]),
    part: new Set(["prompt_cache_breakpoint", "cache_control"]),
  },
};
const OF_ANSWER: ChatRules = { refuse, own: { part: new Set(["index", "extra_content"]) } };

/** Throws INVALID_REQUEST, naming the path. */
export function toContents(messages: Json | undefined, model: string): Contents {
  const reader = new Reader(model);
  eachMessage(messages, RULES, (role, message, place) => reader.read(role, message, place));
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

  read(role: Role, message: JsonObject, place: string): void {
    if (role === "tool") {
      this.#addResult(message, place);
      return;
    }
    this.#results = null;
    if (role === "system") this.#system.push(...textParts(message, place));
    else if (role === "user") this.#addUser(message, place);
    else this.#addAssistant(message, place);
  }

  end(): Contents {
    if (this.#contents.length === 0) throw invalid("`messages` must hold more than instructions");
    const details = [...this.#details];
    if (details.length > 1) throw unsupported("a request whose images differ in `detail`");
    return { contents: this.#contents, system: this.#system, detail: details[0] ?? null };
  }

  #addUser(message: JsonObject, place: string): void {
    const parts = eachPart(message, place, refuse, (part, at) => this.#userPart(part, at));
    if (parts.length === 0) throw invalid(`\`${place}.content\` is empty`);
    this.#contents.push({ role: "user", parts });
  }

  #userPart(part: JsonObject, place: string): JsonObject {
    const { type } = part;
    if (type !== "image_url" && type !== "input_audio" && type !== "file") return { text: wordsOf(part, place, RULES) };
    const [given, inner] = [innerOf(part, place, RULES), `${place}.${type}`];
    if (type === "input_audio") return audioPart(given, inner);
    if (type === "file") return filePart(given, inner);
    this.#details.add(detailOf(given));
    return imagePart(given, inner);
  }

  #addAssistant(message: JsonObject, place: string): void {
    const parts = textParts(message, place);
    sign(parts, message, place);
    if (text(message.refusal) !== null) parts.push({ text: text(message.refusal) });
    parts.push(...imageParts(message.images, `${place}.images`));
    parts.push(...callParts(message, place, RULES, this.#model, this.#calls));
    if (parts.length === 0) throw invalid(`\`${place}\` has neither content nor calls`);
    this.#contents.push({ role: "model", parts });
  }

  /**
   * Results of parallel calls share a turn: Gemini wants as many results in it as there were calls.
   */
  #addResult(message: JsonObject, place: string): void {
    const words = textParts(message, place).map((part) => text(part.text) ?? "");
    const part = resultPart(message, words.join(""), place, this.#calls);
    if (this.#results === null) {
      this.#results = [];
      this.#contents.push({ role: "user", parts: this.#results });
    }
    this.#results.push(part);
  }
}

/** Texts and refusals. */
function textParts(message: JsonObject, place: string): JsonObject[] {
  return eachPart(message, place, refuse, (part, at) => ({ text: wordsOf(part, at, RULES) }));
}

/** Images of an earlier answer; each has its own signature. */
function imageParts(images: Json | undefined, place: string): JsonObject[] {
  if (isAbsent(images)) return [];
  if (!Array.isArray(images)) throw invalid(`\`${place}\` must be an array`);
  return images.map((image, index) => {
    const [source, inner] = [objectOf(image) as JsonObject, `${place}[${index}]`];
    const part = imagePart(innerOf({ ...source, type: "image_url" }, inner, OF_ANSWER), inner);
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
