// Reads the pages of a list. Throws for repeated pages and for an answer that is no list: an
// unlisted object counts as absent, so neither may pass for an empty list.

/** Page tokens of one list. Detects repetition. */
export class PageTokens {
  readonly #place: string;
  readonly #seen: Set<string> = new Set();

  constructor(place: string) {
    this.#place = place;
  }

  /** The next token, or null at the end. Throws for a token that this list has given before. */
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
