// The limits of price that this process knows: writes them into the store once, before it enqueues
// or seals, and remembers which lanes wait for money. A job's or tenant's earlier use counts, even
// of runs without a limit.

import { DispatchError, type PriceFigures, PriceLimitError } from "../contract/errors.ts";
import type { PayerChange, PayerRow } from "../contract/store/payers.ts";
import type { Store } from "../contract/store/store.ts";
import { parseLane, payerName } from "../format/encode.ts";
import { openIn } from "../format/open-requests.ts";
import type { ResolvedOptions } from "../options/resolve-options.ts";
import { amountOf, dollarsOf, figuresOf, leftOf } from "./amounts.ts";
import type { Payer } from "./max-price.ts";
import { priceOf } from "./price.ts";

/** Payers whose usage is read together. */
const READ_AT_ONCE = 10;
/** Stands for the limit of a payer that the store does not know. */
const UNKNOWN = -1;

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
  /** Called after each stop of a lane with other figures than its last one. */
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
    const change = async (payer: Payer): Promise<PayerChange> => {
      const { name, limit, kind } = payer;
      return { name, limit, spent: known.has(name) && kind === "tenant" ? 0 : await this.#spentBefore(payer) };
    };
    const payers = [...this.#payers.values()];
    for (let from = 0; from < payers.length; from += READ_AT_ONCE) {
      changes.push(...(await Promise.all(payers.slice(from, from + READ_AT_ONCE).map(change))));
    }
    await this.#store.payers(changes, []);
  }

  /** What a payer has used so far. Throws if a job has open requests that it does not pay for. */
  async #spentBefore({ kind, of, name }: Payer): Promise<number> {
    const rows = await this.#store.usage(kind === "job" ? { job: of } : { tenant: of });
    let [spent, open] = [0, 0];
    for (const row of rows) {
      const { model, payers } = parseLane(row.lane);
      // Only the sum says what is open: a request may end in another lane than it began in.
      if (!payers.includes(name)) open += openIn(row);
      spent += amountOf(priceOf(row, model, this.#options.prices) ?? 0);
    }
    if (kind === "job" && open > 0) throw begunWithout(of);
    return spent;
  }

  /** Notes that the lane waits for money. Returns the error to report, once for each limit. */
  async stop(lane: string): Promise<DispatchError | null> {
    const { payers, model } = parseLane(lane);
    const rows = await this.#store.payers([], payers);
    const [payer] = rows.toSorted((a, b) => leftOf(a) - leftOf(b));
    if (payer === undefined || rows.length < payers.length) return this.#unknown(payers, rows, model);
    const before = this.stops.get(lane)?.payer;
    this.#look += 1;
    this.stops.set(lane, { payer, look: this.#look });
    if (before === undefined || !isSame(before, payer)) this.onStop();
    const isNew = this.#told.get(payer.name) !== payer.limit;
    this.#told.set(payer.name, payer.limit);
    return isNew ? this.errorOf(payer) : null;
  }

  /**
   * Called when the store has lost a limit, or never had it. The next turn writes this process's
   * limits.
   */
  #unknown(names: readonly string[], known: readonly PayerRow[], model: string): DispatchError | null {
    const unknown = names.filter((name) => known.every((row) => row.name !== name));
    if (unknown.some((name) => this.#payers.has(name))) this.#kept = null;
    const isNew = unknown.some((name) => !this.#payers.has(name) && this.#told.get(name) !== UNKNOWN);
    for (const name of unknown) this.#told.set(name, UNKNOWN);
    return isNew ? unknownLimit(model) : null;
  }

  /** True if the lane waits for money, and no more is left than when that was found. */
  async isStopped(lane: string): Promise<boolean> {
    const payer = this.stops.get(lane)?.payer;
    if (payer === undefined) return false;
    const [row] = await this.#store.payers([], [payer.name]);
    return row !== undefined && leftOf(row) <= leftOf(payer);
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

/** Throws where an earlier run has given the job a limit, and this one gives none. */
export async function refuseForgottenLimit(
  store: Pick<Store, "payers">,
  job: string,
  { maxPrice }: Pick<ResolvedOptions, "maxPrice">,
): Promise<void> {
  if (maxPrice !== null && maxPrice.job !== null) return;
  const [known] = await store.payers([], [payerName("job", job)]);
  if (known === undefined) return;
  const before = `An earlier run gave the job "${job}" a \`maxPrice\` of ${dollarsOf(known.limit)}`;
  throw new DispatchError("PRICE_LIMIT", `${before}: give one again, or Infinity to lift it.`);
}

function isSame(one: PayerRow, other: PayerRow): boolean {
  const { name, limit, spent, reserved } = one;
  return name === other.name && limit === other.limit && spent === other.spent && reserved === other.reserved;
}

function unknownLimit(model: string): DispatchError {
  const what = `Requests for the model "${model}" wait: the store does not know the limit of a job or tenant that pays for them`;
  return new DispatchError("PRICE_LIMIT", `${what}. Start a process that has it in its \`maxPrice\`.`);
}

function begunWithout(job: string): DispatchError {
  const what = `Requests of the job "${job}" wait or run that were enqueued without a \`maxPrice\`, and would not count`;
  return new DispatchError("PRICE_LIMIT", `${what}: let them end without one or cancel them, or use another job.`);
}
