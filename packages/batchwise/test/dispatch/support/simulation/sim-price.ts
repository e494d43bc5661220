// A run that checks the promise of a limit of price: what is spent exceeds it by no more than the
// errors of the estimates of the batches that were open at once. With answers of any length, lines
// that fail, two processes that are killed and replaced, and lost answers of the store.

import { expect } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { DispatchError } from "../../../../src/dispatch/contract/errors.ts";
import type { SealInput, SettleInput } from "../../../../src/dispatch/contract/store/calls.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { payerName } from "../../../../src/dispatch/format/encode.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { ask, SimProcess, START, seeded } from "../world.ts";
import { SimProvider } from "./sim-provider.ts";

const MINUTE = 60_000;
const PAYER = payerName("tenant", "acme");
/** One unit for each token. */
const prices = { m: { input: 0.001, output: 0.001, batchDiscount: 0 } };
const LIMIT = 3_000;

/** Keeps the reservation and the cost of each batch, as written to the store. */
class Book {
  readonly #store: Store;
  readonly #batches = new Map<string, { readonly reserved: number; cost: number; isOpen: boolean }>();
  /** Batches that were open at the last seal. */
  #together: readonly string[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  async seal(input: SealInput, call: () => ReturnType<Store["seal"]>): ReturnType<Store["seal"]> {
    const before = await this.#row();
    const result = await call();
    if (!result.ok || this.#batches.has(input.key)) return result;
    const reserved = (await this.#row()).reserved - before.reserved;
    this.#batches.set(input.key, { reserved, cost: 0, isOpen: true });
    this.#together = [...this.#batches].flatMap(([key, { isOpen }]) => (isOpen ? [key] : []));
    const row = await this.#row();
    expect(row.spent + row.reserved).toBeLessThanOrEqual(LIMIT);
    return result;
  }

  async settle({ key }: SettleInput, call: () => ReturnType<Store["settle"]>): ReturnType<Store["settle"]> {
    const before = await this.#row();
    const result = await call();
    const row = await this.#row();
    const batch = this.#batches.get(key);
    if (!result.ok || batch === undefined) return result;
    batch.cost += row.spent - before.spent;
    batch.isOpen = result.remaining > 0;
    const open = [...this.#batches.values()].filter(({ isOpen }) => isOpen);
    expect(row.reserved).toBe(open.reduce((sum, { reserved }) => sum + reserved, 0));
    const errors = this.#together.reduce((sum, one) => {
      const { reserved = 0, cost = 0 } = this.#batches.get(one) ?? {};
      return sum + Math.max(0, cost - reserved);
    }, 0);
    expect(row.spent).toBeLessThanOrEqual(LIMIT + errors);
    return result;
  }

  async #row(): Promise<{ readonly spent: number; readonly reserved: number }> {
    return (await this.#store.payers([], [PAYER]))[0] ?? { spent: 0, reserved: 0 };
  }
}

/** Throws where the promise is broken. The store is empty before. */
export async function simulatePrice(seed: number, store: Store): Promise<void> {
  const random = seeded(seed);
  const time = virtualClock(START);
  const book = new Book(store);
  const provider = new SimProvider({
    time,
    plan: () => ({ runMs: Math.floor(random() * 20) * MINUTE, statusOf: () => (random() < 0.2 ? 500 : 200) }),
  });
  const plain = provider.account();
  const account: Account = {
    ...plain,
    async *results(...given) {
      for await (const line of plain.results(...given)) {
        const outputTokens = Math.floor(random() * 120);
        yield line.usage === null ? line : { ...line, usage: { ...line.usage, inputTokens: 9, outputTokens } };
      }
    },
  };
  // One call at a time, so that the book sees each change by itself.
  let turn: Promise<unknown> = Promise.resolve();
  const begin = (): SimProcess => {
    const process = new SimProcess(time);
    const watched = process.wrap(store, (name, call, given) => {
      const inTurn = async (): Promise<unknown> => {
        const made = call as () => Promise<never>;
        if (name === "seal") return book.seal(given[0] as SealInput, made);
        if (name === "settle") return book.settle(given[0] as SettleInput, made);
        return made();
      };
      const answer = turn.then(inTurn).then((result) => {
        if ((name === "seal" || name === "settle") && random() < 0.1)
          throw new DispatchError("STORE_UNAVAILABLE", "Lost.");
        return result;
      });
      turn = answer.catch(() => {});
      return answer;
    });
    const dispatcher = createDispatcher({
      ...{ store: watched, accounts: [process.wrap(account)], prices, clock: process.clock, random, onError: () => {} },
      ...{ thresholds: { maxAgeMs: 0, maxRequests: 8 }, retry: { backoffMs: 1_000 } },
      maxPrice: { tenants: { acme: (LIMIT * 1) / 1e9 } },
    });
    dispatcher.start().catch(() => {});
    const count = 10 + Math.floor(random() * 20);
    const requests = Array.from({ length: count }, (_, n) => {
      const body = { ...ask(`${seed}-${time.now()}-${n}`).body, max_tokens: 10 + Math.floor(random() * 90) };
      return { body, tenant: "acme" };
    });
    dispatcher.enqueueMany(requests).catch(() => {});
    return process;
  };
  let processes = [begin(), begin()];
  for (let steps = 0; steps < 40; steps += 1) {
    await time.advance(MINUTE * (1 + Math.floor(random() * 4)));
    await turn;
    if (random() < 0.1) {
      processes[0]?.kill();
      processes = [...processes.slice(1), begin()];
    }
  }
  for (const process of processes) process.kill();
  await turn;
  const [row] = await store.payers([], [PAYER]);
  expect(row?.spent).toBeGreaterThan(LIMIT / 3);
}
