// Estimates the prompt tokens of a body, for caps and ledgers. Text counts as the engine estimates
// it; images, audio and files have rules of their own. Pure.

import { estimateAsciiTokens, estimateTokens } from "../../../tokens/estimate-tokens.ts";
import type { Json, JsonObject } from "../../contract/types.ts";
import { fieldTokens, mediaTokens } from "./media-tokens.ts";

/** Fields with messages or media: of a chat, a response, Gemini's contents, an image edit. */
const PLACES = ["messages", "input", "contents", "images"] as const;
/** Fields that are media themselves: of an edit, a video or a transcription. */
const FIELDS = ["mask", "input_reference", "url", "file"] as const;

/** `isAscii`: all of the body's text is ASCII, which makes the estimate faster. */
export function tokensOf(body: JsonObject, isAscii: boolean): number {
  const estimate = isAscii ? estimateAsciiTokens : estimateTokens;
  let rest = body;
  let media = 0;
  for (const place of PLACES) {
    const taken = takeFrom(body[place]);
    if (taken === null) continue;
    rest = { ...rest, [place]: taken.rest };
    media += taken.tokens;
  }
  for (const field of FIELDS) {
    const tokens = body[field] === undefined ? null : fieldTokens(body[field]);
    if (tokens === null) continue;
    rest = { ...rest, [field]: "" };
    media += tokens;
  }
  return estimate(rest) + media;
}

interface Taken {
  readonly tokens: number;
  /** The value without its media. */
  readonly rest: Json;
}

/** Removes images, audio and files from a value. Null if it has none, which costs no copy. */
function takeFrom(value: Json | undefined): Taken | null {
  if (typeof value !== "object" || value === null) return null;
  return Array.isArray(value) ? takeFromList(value) : takeFromObject(value as JsonObject);
}

function takeFromList(values: readonly Json[]): Taken | null {
  let tokens = 0;
  let rest: Json[] | null = null;
  for (const [index, value] of values.entries()) {
    // A list of texts or numbers has no media.
    if (typeof value !== "object") return null;
    const whole = value === null || Array.isArray(value) ? null : mediaTokens(value as JsonObject);
    const taken = whole === null ? takeFrom(value) : null;
    if (whole !== null || taken !== null) rest ??= values.slice(0, index);
    tokens += whole ?? taken?.tokens ?? 0;
    if (whole === null) rest?.push(taken?.rest ?? value);
  }
  return rest === null ? null : { tokens, rest };
}

/** Handles a message, or a part with nested parts such as a tool result. */
function takeFromObject(value: JsonObject): Taken | null {
  const place = value.content === undefined ? "parts" : "content";
  const taken = takeFrom(value[place]);
  return taken === null ? null : { tokens: taken.tokens, rest: { ...value, [place]: taken.rest } };
}
