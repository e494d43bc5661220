// Prepares texts and counts from outside for a store: codes, messages, provider ids and states,
// tokens. Guarantees bounded texts that every database accepts, codes short enough for an index,
// and whole numbers whose sums are exact. The payload keeps the provider's own message. Pure.

import type { TokenCounts } from "../contract/store/rows.ts";

const LONGEST = 256;
const LONGEST_MESSAGE = 2_000;
const LONGEST_IN_JSON = 20_000;
/** More than any request uses. The sum of nine million such counts is still exact. */
const MOST_TOKENS = 1_000_000_000;
/** A NUL character, or half a surrogate pair. */
const UNSTORABLE = /\0|\p{Surrogate}/gu;

export function storedCode(code: string): string {
  return storable(code, LONGEST);
}

export function storedMessage(message: string): string {
  return storable(message, LONGEST_MESSAGE);
}

/** The text, or its first `most` characters and an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function storable(text: string, longest: number): string {
  return text.slice(0, longest).replace(UNSTORABLE, "\ufffd");
}

/** Bounds all texts within a JSON text, such as an error with the provider's message. */
export function storedJson(json: string): string {
  if (json.length <= LONGEST_IN_JSON) return json;
  const shorter = (_name: string, value: unknown): unknown =>
    typeof value === "string" ? storable(value, LONGEST_IN_JSON) : value;
  return JSON.stringify(JSON.parse(json), shorter);
}

/** Whole numbers that every store can add up, for any value that a provider or account gives. */
export function storedTokens({ inputTokens, cachedTokens, outputTokens, reasoningTokens }: Loose): TokenCounts {
  return {
    inputTokens: wholeCount(inputTokens),
    cachedTokens: wholeCount(cachedTokens),
    outputTokens: wholeCount(outputTokens),
    reasoningTokens: wholeCount(reasoningTokens),
  };
}

/** Payloads of earlier versions lack some of the counts. */
type Loose = Partial<TokenCounts>;

function wholeCount(count: number | undefined): number {
  return Math.max(0, Math.min(Math.floor(count ?? 0) || 0, MOST_TOKENS));
}
