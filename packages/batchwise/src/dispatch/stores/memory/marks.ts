// Marks, the named texts that all processes share. Guarantees compare-and-set.

import type { MarkChange, MarkRow } from "../../contract/store/ledger-rows.ts";

export class Marks {
  readonly #values = new Map<string, string>();

  /** Makes each change whose `expected` holds, in order. Returns all marks, by name. */
  change(changes: readonly MarkChange[]): MarkRow[] {
    for (const { name, expected, value } of changes) {
      if ((this.#values.get(name) ?? null) !== expected) continue;
      if (value === null) this.#values.delete(name);
      else this.#values.set(name, value);
    }
    const names = [...this.#values.keys()].sort();
    return names.map((name) => ({ name, value: this.#values.get(name) as string }));
  }
}
