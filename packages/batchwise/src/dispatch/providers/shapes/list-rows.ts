// The rows of a list answer in OpenAI's shape, which Anthropic has too. Pure. An answer without
// rows is an error and no empty list: what is not listed counts as never created, and is sent
// again.

import { describe } from "../../../core/contract/errors.ts";
import { objectOf } from "./sdk-error.ts";

/**
 * The rows of a page, of a plain array, or of a page that the SDK made of a plain array. Throws for
 * an answer that is no list, as a proxy's page with a 200: the SDKs make an empty page of it.
 */
export function rowsOf(page: unknown): readonly unknown[] {
  if (Array.isArray(page)) return page;
  const { data, body = page } = objectOf(page);
  if (Array.isArray(data) && data.length > 0) return data;
  const told = Array.isArray(body) ? body : objectOf(body).data;
  if (Array.isArray(told)) return told;
  // An empty list, as services that are written in Go may say it.
  if (told === null) return [];
  throw noListError("an array `data`", page);
}

/**
 * For an answer to a call for a list that is none. The names of its fields are told, and no value:
 * it may have secrets.
 */
export function noListError(expected: string, came: unknown): Error {
  const names = typeof came === "object" && came !== null && !Array.isArray(came) ? Object.keys(came) : null;
  const fields = names === null ? describe(came) : `an object with ${names.slice(0, 8).join(", ") || "nothing in it"}`;
  return new Error(`Expected the provider to answer a call for its list with ${expected}, got ${fields}.`);
}
