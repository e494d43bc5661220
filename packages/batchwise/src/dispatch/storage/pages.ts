// The pages of a list, which a storage must not give for ever, and an answer that is no list. What
// is not listed counts as not there, so neither passes for an empty list.

/** Names the next page, and notices one that was read before. */
export class PageTokens {
  readonly #place: string;
  readonly #seen: Set<string> = new Set();

  constructor(place: string) {
    this.#place = place;
  }

  /** null at the end. Throws for a token that the same list has given before. */
  next(token: unknown): string | null {
    if (typeof token !== "string" || token === "") return null;
    if (this.#seen.has(token))
      throw new Error(`The list of ${this.#place} names a page again that it has given before.`);
    this.#seen.add(token);
    return token;
  }
}

export function noList(place: string): Error {
  return new Error(`The storage answered a call for the list of ${place} with something else.`);
}
