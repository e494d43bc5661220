// The data that the agents look up.

const KINDS = ["book", "shoes", "food", "swimwear"];

export function orderOf(id: string): { readonly id: string; readonly kind: string } {
  const number = Number(id.replace(/\D/g, ""));
  return { id, kind: KINDS[number % KINDS.length] as string };
}

export function policyOf(kind: string): { readonly kind: string; readonly mayReturn: boolean } {
  return { kind, mayReturn: kind === "book" || kind === "shoes" };
}
