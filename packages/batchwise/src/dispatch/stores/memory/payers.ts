// What payers may spend, have spent and have reserved. Knows no requests.

import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { PayerChange, PayerRow } from "../../contract/store/payers.ts";
import type { MemoryBatch } from "./records.ts";

type Payer = { -readonly [Field in keyof PayerRow]: PayerRow[Field] };

export class Payers {
  readonly #all = new Map<string, Payer>();

  change(changes: readonly PayerChange[], names: readonly string[]): PayerRow[] {
    for (const { name, limit, spent } of changes) {
      const known = this.#all.get(name);
      if (known === undefined) this.#all.set(name, { name, limit, spent, reserved: 0 });
      else known.limit = limit;
    }
    const wanted = new Set([...names, ...changes.map(({ name }) => name)]);
    return this.#of([...wanted]).map((payer) => ({ ...payer }));
  }

  /** What is left of the least of them; Infinity without payers. */
  left(names: readonly string[] | undefined): number {
    if (names === undefined) return Number.POSITIVE_INFINITY;
    const payers = this.#of(names);
    if (payers.length < names.length) return 0;
    return Math.min(...payers.map(({ limit, spent, reserved }) => limit - spent - reserved));
  }

  reserve({ payers, reserved }: MemoryBatch): void {
    for (const payer of this.#of(payers)) payer.reserved += reserved;
  }

  /** Books what a settled member costs. */
  charge({ payers, reserved, requests }: MemoryBatch, { price = 0 }: Pick<Settlement, "price">): void {
    const spent = price === "share" ? Math.ceil(reserved / requests) : price;
    for (const payer of this.#of(payers)) payer.spent += spent;
  }

  /** Call when the last member is settled. */
  release({ payers, reserved }: MemoryBatch): void {
    for (const payer of this.#of(payers)) payer.reserved -= reserved;
  }

  #of(names: readonly string[]): Payer[] {
    return names.map((name) => this.#all.get(name)).filter((payer) => payer !== undefined);
  }
}
