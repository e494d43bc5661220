// Texts of errors as a store keeps them: the code beside the payload, to find requests by, and why a delivery failed.
// Guarantees a bounded text that every database takes, whatever a provider calls a code or a callback throws; a code is
// short enough for an index. The payload has the provider's own words. Pure.

const LONGEST = 256;
const LONGEST_MESSAGE = 2_000;
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

/** The same item where its code can be stored as it is. */
export function withStoredCode<Item extends { readonly code: string | null }>(item: Item): Item {
  if (item.code === null) return item;
  const code = storedCode(item.code);
  return code === item.code ? item : { ...item, code };
}
