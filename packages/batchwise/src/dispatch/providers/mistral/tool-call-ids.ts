// Ids of tool calls. Mistral requires exactly nine letters and digits, and OpenAI's are longer.
// Each other id of a request is replaced by one of that form, equal in the call and in its result.
// Pure and deterministic.

const FITS = /^[A-Za-z0-9]{9}$/;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 9;
/** FNV-1a, 64 bits. */
const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;

/** The ids of one request. */
export class ToolCallIds {
  readonly #given: Map<string, string> = new Map();
  readonly #taken: Set<string> = new Set();

  /** The id that Mistral gets for this one. */
  of(id: string): string {
    const known = this.#given.get(id);
    if (known !== undefined) return known;
    let own = FITS.test(id) ? id : nineOf(id);
    for (let turn = 1; this.#taken.has(own); turn += 1) own = nineOf(`${id} ${turn}`);
    this.#taken.add(own);
    this.#given.set(id, own);
    return own;
  }
}

function nineOf(text: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  const base = BigInt(ALPHABET.length);
  let nine = "";
  for (let left = hash; nine.length < LENGTH; left /= base) nine += ALPHABET[Number(left % base)];
  return nine;
}
