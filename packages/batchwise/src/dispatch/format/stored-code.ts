// Texts and counts from outside as a store keeps them: codes, to find requests by, messages, a
// provider's ids and states, tokens. Guarantees a bounded text that every database takes, whatever
// a provider calls a code or a callback throws, and whole numbers that can be added up. A code is
// short enough for an index. The payload has the provider's own words. Pure.

import type { TokenCounts } from "../contract/rows.ts";

const LONGEST = 256;
const LONGEST_MESSAGE = 2_000;
const LONGEST_IN_JSON = 20_000;
/**
 * More than any request takes. The sum of nine million such counts is still a whole number of
 * JavaScript.
 */
const MOST_TOKENS = 1_000_000_000;
/** A NUL character, or half of a surrogate pair. */
const UNSTORABLE = /\0|\p{Surrogate}/gu;

export function storedCode(code: string): string {
  return storable(code, LONGEST);
}

export function storedMessage(message: string): string {
  return storable(message, LONGEST_MESSAGE);
}

function storable(text: string, longest: number): string {
  return text.slice(0, longest).replace(UNSTORABLE, "\ufffd");
}

/** JSON, such as an error with the provider's words, none of whose texts is too long. */
export function storedJson(json: string): string {
  if (json.length <= LONGEST_IN_JSON) return json;
  const shorter = (_name: string, value: unknown): unknown =>
    typeof value === "string" ? storable(value, LONGEST_IN_JSON) : value;
  return JSON.stringify(JSON.parse(json), shorter);
}

/**
 * Whole numbers, which every store can add up, whatever a provider or an account gives: half a
 * token, or none.
 */
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
