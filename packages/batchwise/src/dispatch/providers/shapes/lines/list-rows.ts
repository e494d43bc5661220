// Reads the rows of a list answer in OpenAI's format, which Anthropic shares. An answer without
// rows is an error, not an empty list: an unlisted batch counts as never created and is sent again.
// Walks the pages of any list.

import { describe } from "../../../../core/contract/errors.ts";
import { notJson } from "../sdk/not-json.ts";
import { objectOf } from "../sdk/sdk-error.ts";

/**
 * The rows of a page, of a plain array, or of a page that the SDK made from one. Throws for an
 * answer that is no list, such as a proxy's page with a 200, from which SDKs make an empty page.
 */
export function rowsOf(page: unknown): readonly unknown[] {
  if (Array.isArray(page)) return page;
  const { data, body = page } = objectOf(page);
  if (Array.isArray(data) && data.length > 0) return data;
  const told = Array.isArray(body) ? body : objectOf(body).data;
  if (Array.isArray(told)) return told;
  // Services written in Go may write an empty list as null.
  if (told === null) return [];
  throw noListError("an array `data`", page);
}

/** The error for an answer that is no list. Names its fields but no values, which may be secret. */
export function noListError(expected: string, page: unknown): Error {
  // An SDK's page has the answer as its body.
  const { body: came = page } = objectOf(page);
  const other = notJson(`a call for its list with ${expected}`, came, page);
  if (other !== null) return other;
  const names = typeof came === "object" && came !== null && !Array.isArray(came) ? Object.keys(came) : null;
  const fields = names === null ? describe(came) : `an object with ${names.slice(0, 8).join(", ") || "nothing in it"}`;
  return new Error(`Expected the provider to answer a call for its list with ${expected}, got ${fields}.`);
}

/** All pages of a list, in order. Throws for a page that names itself as the next one. */
export async function* pagesOf<Page>(
  read: (cursor: string | null) => PromiseLike<Page>,
  nextIn: (page: Page, cursor: string | null) => string | null,
): AsyncGenerator<Page> {
  let cursor: string | null = null;
  do {
    const page: Page = await read(cursor);
    yield page;
    const next = nextIn(page, cursor);
    if (next !== null && next === cursor) throw new Error("The provider's page names itself as the next one.");
    cursor = next;
  } while (cursor !== null);
}
