// The estimated prompt tokens of a body, as counted against caps and reserved on ledgers: its text
// as the engine estimates it, images, audio and files by rules of their own. Pure.

import { estimateAsciiTokens, estimateTokens } from "../../tokens/estimate-tokens.ts";
import type { Json, JsonObject } from "../contract/types.ts";
import { fieldTokens, mediaTokens } from "./media-tokens.ts";

/**
 * Where a body holds messages or media: a chat, the items of a response, Gemini's contents, the
 * images of an edit.
 */
const PLACES = ["messages", "input", "contents", "images"] as const;
/** Fields that are a medium themselves: of an edit, a video, a transcription. */
const FIELDS = ["mask", "input_reference", "url", "file"] as const;

/** `isAscii`: all of the body's texts are, which makes it quicker. */
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
  /** The same without its media. */
  readonly rest: Json;
}

/** Takes images, audio and files out of a value; null where there are none, which costs no copy. */
function takeFrom(value: Json | undefined): Taken | null {
  if (typeof value !== "object" || value === null) return null;
  return Array.isArray(value) ? takeFromList(value) : takeFromObject(value as JsonObject);
}

function takeFromList(values: readonly Json[]): Taken | null {
  let tokens = 0;
  let rest: Json[] | null = null;
  for (const [index, value] of values.entries()) {
    // A list of texts or of numbers has no parts in it.
    if (typeof value !== "object") return null;
    const whole = value === null || Array.isArray(value) ? null : mediaTokens(value as JsonObject);
    const taken = whole === null ? takeFrom(value) : null;
    if (whole !== null || taken !== null) rest ??= values.slice(0, index);
    tokens += whole ?? taken?.tokens ?? 0;
    if (whole === null) rest?.push(taken?.rest ?? value);
  }
  return rest === null ? null : { tokens, rest };
}

/** A message, or a part that holds others, as the result of a tool. */
function takeFromObject(value: JsonObject): Taken | null {
  const place = value.content === undefined ? "parts" : "content";
  const taken = takeFrom(value[place]);
  return taken === null ? null : { tokens: taken.tokens, rest: { ...value, [place]: taken.rest } };
}
