// The code of an error as a store keeps it beside the payload, to find requests by. Guarantees a short text that every
// database takes and can index, whatever a provider calls a code. The payload has the provider's own. Pure.

const LONGEST = 256;
/** A NUL character, or half of a surrogate pair. */
const UNSTORABLE = /\0|\p{Surrogate}/gu;

export function storedCode(code: string): string {
  return code.slice(0, LONGEST).replace(UNSTORABLE, "\ufffd");
}

/** The same item where its code can be stored as it is. */
export function withStoredCode<Item extends { readonly code: string | null }>(item: Item): Item {
  if (item.code === null) return item;
  const code = storedCode(item.code);
  return code === item.code ? item : { ...item, code };
}
