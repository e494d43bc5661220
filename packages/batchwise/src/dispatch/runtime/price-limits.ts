// The limits of price that this process knows: writes them into the store once, before it enqueues
// or seals, and remembers which lanes wait for money. A job's or tenant's earlier use counts, even
// of runs without a limit.

import { DispatchError, type PriceFigures, PriceLimitError } from "../contract/errors.ts";
import type { PayerChange, PayerRow } from "../contract/payers.ts";
import type { Store } from "../contract/store.ts";
import { amountOf, dollarsOf } from "../decide/price/amounts.ts";
import { priceOf } from "../decide/price/price.ts";
import { parseLane, payerName } from "../format/encode.ts";
import type { Payer } from "../options/max-price.ts";
import type { ResolvedOptions } from "../options/resolve-options.ts";

/** A lane whose next request costs more than is left of a limit. */
export interface PriceStop {
  /** The payer with the least left. */
  readonly payer: PayerRow;
  /** The look of the sealer at which it was found: higher for later ones. */
  readonly look: number;
}

export class PriceLimits {
  readonly #options: Pick<ResolvedOptions, "maxPrice" | "prices">;
  readonly #store: Store;
  readonly #payers: ReadonlyMap<string, Payer>;
  #kept: Promise<void> | null = null;
  #look = 0;
  /** The limit of each payer that was reported. */
  readonly #told: Map<string, number> = new Map();
  /** By lane. */
  readonly stops: Map<string, PriceStop> = new Map();
  /** Called after each stop. */
  onStop: () => void = () => {};

  constructor(options: Pick<ResolvedOptions, "maxPrice" | "prices">, store: Store) {
    this.#options = options;
    this.#store = store;
    const { job = null, tenants = new Map<string, Payer>() } = options.maxPrice ?? {};
    const all = job === null ? [...tenants.values()] : [job, ...tenants.values()];
    this.#payers = new Map(all.map((payer) => [payer.name, payer]));
  }

  get look(): number {
    return this.#look;
  }

  /** Writes the limits into the store, once. Nothing without `maxPrice`. */
  async keep(): Promise<void> {
    if (this.#payers.size === 0) return;
    this.#kept ??= this.#write().catch((error: unknown) => {
      this.#kept = null;
      throw error;
    });
    await this.#kept;
  }

  async #write(): Promise<void> {
    const known = new Set((await this.#store.payers([], [...this.#payers.keys()])).map(({ name }) => name));
    const changes: PayerChange[] = [];
    for (const payer of this.#payers.values()) {
      const { name, limit } = payer;
      changes.push({ name, limit, spent: known.has(name) ? 0 : await this.#spentBefore(payer) });
    }
    await this.#store.payers(changes, []);
  }

  /** What a payer has used before its first limit. Throws if some of it is still open. */
  async #spentBefore({ kind, of }: Payer): Promise<number> {
    const rows = await this.#store.usage(kind === "job" ? { job: of } : { tenant: of });
    let spent = 0;
    for (const row of rows) {
      const { succeeded, failed, cancelled, expired } = row.ended;
      if (kind === "job" && row.requests > succeeded + failed + cancelled + expired) throw begunWithout(of);
      spent += amountOf(priceOf(row, parseLane(row.lane).model, this.#options.prices) ?? 0);
    }
    return spent;
  }

  /** Notes that the lane waits for money. Returns the error to report, once for each limit. */
  async stop(lane: string): Promise<PriceLimitError | null> {
    const rows = await this.#store.payers([], parseLane(lane).payers);
    const [payer] = rows.toSorted((a, b) => leftOf(a) - leftOf(b));
    if (payer === undefined) return null;
    this.#look += 1;
    this.stops.set(lane, { payer, look: this.#look });
    this.onStop();
    const isNew = this.#told.get(payer.name) !== payer.limit;
    this.#told.set(payer.name, payer.limit);
    return isNew ? this.errorOf(payer) : null;
  }

  /** The lane has a batch again. */
  sealed(lane: string): void {
    this.stops.delete(lane);
  }

  /** What the store has of the job's limit; null without one. */
  async ofJob(): Promise<PriceFigures | null> {
    const job = this.#options.maxPrice?.job ?? null;
    if (job === null) return null;
    const [row] = await this.#store.payers([], [job.name]);
    return row === undefined ? null : figuresOf(row);
  }

  errorOf(row: PayerRow): PriceLimitError {
    const payer = this.#payers.get(row.name);
    const whose = payer === undefined ? "A job or tenant of another process" : `The ${payer.kind} "${payer.of}"`;
    return new PriceLimitError(whose, figuresOf(row));
  }
}

function figuresOf({ limit, spent, reserved }: PayerRow): PriceFigures {
  return { limit: dollarsOf(limit), spent: dollarsOf(spent), reserved: dollarsOf(reserved) };
}

/** Throws where an earlier run has given the job a limit, and this one gives none. */
export async function refuseForgottenLimit(
  store: Pick<Store, "payers">,
  job: string,
  { maxPrice }: Pick<ResolvedOptions, "maxPrice">,
): Promise<void> {
  if (maxPrice !== null && maxPrice.job !== null) return;
  const [known] = await store.payers([], [payerName("job", job)]);
  if (known === undefined || known.limit === Number.POSITIVE_INFINITY) return;
  const before = `An earlier run gave the job "${job}" a \`maxPrice\` of ${dollarsOf(known.limit)}`;
  throw new DispatchError("PRICE_LIMIT", `${before}: give one again, or Infinity to lift it.`);
}

function leftOf({ limit, spent, reserved }: PayerRow): number {
  return limit - spent - reserved;
}

function begunWithout(job: string): DispatchError {
  const what = `Requests of the job "${job}" wait or run that were enqueued without a \`maxPrice\`, and would not count`;
  return new DispatchError("PRICE_LIMIT", `${what}: let them end without one or cancel them, or use another job.`);
}
