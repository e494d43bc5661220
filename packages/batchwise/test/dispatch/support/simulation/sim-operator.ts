// Operators in the fault simulation: they pause and resume, cancel many requests, name provider
// batches rightly and wrongly, and resolve quarantined batches after the faults have stopped.

import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import type { VirtualClock } from "../../../../src/testing/index.ts";
import type { SimProvider } from "./sim-provider.ts";

const MINUTE = 60_000;
const LANE = { endpoint: "/v1/chat/completions", model: "m" } as const;
/** Requests of this job are cancelled together, in some runs. */
export const DOOMED = "doomed";
/** A create that has passed the last look at the pauses arrives within this time, or never. */
const ARRIVES_MS = 6 * MINUTE;

export interface Office {
  readonly time: VirtualClock;
  readonly store: Store;
  /** The account of the nth is named `sim<n>`. */
  readonly providers: readonly SimProvider[];
  readonly below: (count: number) => number;
  /** One of the dispatchers that are alive. */
  readonly anybody: () => Dispatcher | undefined;
  /** These may end as cancelled from now on. */
  readonly mayEnd: (ids: readonly string[]) => void;
}

export class SimOperator {
  readonly #office: Office;
  readonly #pausedAt: Map<number, number> = new Map();
  readonly #pauses: { readonly provider: number; readonly from: number; readonly to: number }[] = [];
  #resumes = 0;

  constructor(office: Office) {
    this.#office = office;
  }

  plan(stormMs: number): void {
    const { time, below, providers } = this.#office;
    const sometimes = (most: number, step: () => unknown): void => {
      for (let left = below(most + 1); left > 0; left -= 1) {
        time.setTimeout(() => void Promise.resolve(step()).catch(() => {}), below(stormMs));
      }
    };
    // Strangers in the same workspace, of the sizes that our own batches have.
    for (const provider of providers) sometimes(3, () => provider.addForeign(1 + below(12)));
    sometimes(2, () => this.#abandon());
    sometimes(2, () => this.#pause(below(providers.length), below(40 * MINUTE)));
    sometimes(1, () => this.#pauseLane(below(30 * MINUTE)));
    sometimes(2, () => this.#cancelSome());
    sometimes(below(4) === 0 ? 2 : 0, () => this.#office.anybody()?.cancel({ job: DOOMED }));
    sometimes(30, () => this.#adopt(below(2) === 0));
  }

  /** Only pauses, of the first accounts. */
  planPauses(stormMs: number, accounts: number): void {
    const { time, below } = this.#office;
    for (let left = below(3); left > 0; left -= 1) {
      time.setTimeout(() => void this.#pause(below(accounts), below(60 * MINUTE)).catch(() => {}), below(stormMs));
    }
  }

  /**
   * After the faults: ends all pauses, and gives quarantined batches their own provider batch or
   * another try.
   */
  async tidyUp(): Promise<void> {
    const dispatcher = this.#office.anybody();
    if (dispatcher === undefined) return;
    for (const index of this.#office.providers.keys()) this.#resume(index);
    dispatcher.resumeLane(LANE).catch(() => {});
    for (const batch of await this.#office.store.batches({ states: ["quarantined"], limit: 1_000 })) {
      const own = this.#ownOf(batch);
      // A failed batch has no results, so it is sent again.
      if (own === undefined) dispatcher.resume(batch.key).catch(() => {});
      // Its results had not one line, so that it was not known as ours: adopted again, it would be
      // quarantined again.
      else if (isGivenBack(batch, own)) dispatcher.requeue(batch.key).catch(() => {});
      else dispatcher.adopt(batch.key, own).catch(() => {});
    }
  }

  /** Provider batches of ours that were made while their account was paused. */
  sentWhilePaused(): string[] {
    return this.#pauses.flatMap(({ provider, from, to }) => {
      const { batches } = this.#office.providers[provider] as SimProvider;
      const inside = batches.filter(({ createdAt, tag }) => tag !== null && createdAt > from && createdAt < to);
      return inside.map(({ id }) => `sim${provider} ${id}`);
    });
  }

  async #pause(index: number, forMs: number): Promise<void> {
    const { time, anybody } = this.#office;
    time.setTimeout(() => this.#resume(index), forMs);
    const before = this.#resumes;
    const isPaused = await anybody()?.pauseAccount(`sim${index}`, "a whim");
    // The answer may come after the end of the pause, where the process was asleep.
    if (isPaused && this.#resumes === before) this.#pausedAt.set(index, time.now());
  }

  #resume(index: number): void {
    const { time, anybody } = this.#office;
    this.#resumes += 1;
    const since = this.#pausedAt.get(index);
    this.#pausedAt.delete(index);
    if (since !== undefined) this.#pauses.push({ provider: index, from: since + ARRIVES_MS, to: time.now() });
    anybody()
      ?.resumeAccount(`sim${index}`)
      .catch(() => {});
  }

  async #pauseLane(forMs: number): Promise<void> {
    const { time, anybody } = this.#office;
    const resume = async (): Promise<unknown> => anybody()?.resumeLane(LANE);
    time.setTimeout(() => void resume().catch(() => {}), forMs);
    await anybody()?.pauseLane(LANE);
  }

  /** Some that wait and some that are in batches; once in a while all of a batch. */
  async #cancelSome(): Promise<void> {
    const { store, below, anybody, mayEnd } = this.#office;
    const { rows } = await store.find({ match: { states: ["ready", "claimed"] }, after: 0, limit: 1_000 });
    const of = rows[below(rows.length)]?.batchKey ?? null;
    const isWhole = of !== null && below(2) === 0;
    const chosen = rows.filter(({ batchKey }) => (isWhole ? batchKey === of : below(10) === 0)).map(({ id }) => id);
    mayEnd(chosen);
    await anybody()?.cancel(chosen);
  }

  /** Abandons some batch. Its requests must not run again. */
  async #abandon(): Promise<void> {
    const { store, below, anybody, mayEnd } = this.#office;
    const open = (await store.batches({ limit: 1_000 })).filter(({ state }) => state !== "done");
    const chosen = open[below(open.length)];
    if (chosen === undefined) return;
    const members = await store.requests({ batchKey: chosen.key, fromOrd: 0, limit: 1_000 });
    mayEnd(members.map(({ id }) => id));
    await anybody()?.abandon(chosen.key, { requests: "end" });
  }

  async #adopt(isRight: boolean): Promise<void> {
    const { store, below, providers, anybody } = this.#office;
    const open = await store.batches({ states: ["unknown", "quarantined"], limit: 1_000 });
    const batch = open[below(open.length)];
    if (batch === undefined) return;
    const provider = providers[indexOf(batch)];
    if (provider === undefined) return;
    // A stranger has just made one of equal size.
    if (!isRight && below(2) === 0) provider.addForeign(batch.remaining);
    const wrong = below(2) === 0 ? provider.batches.at(-1) : provider.batches[below(provider.batches.length)];
    const id = isRight ? this.#ownOf(batch) : wrong?.id;
    if (id !== undefined) await anybody()?.adopt(batch.key, id);
  }

  /** As the operator finds it on the provider's pages: the last one that did not fail. */
  #ownOf(batch: BatchRow): string | undefined {
    const { batches = [] } = this.#office.providers[indexOf(batch)] ?? {};
    const own = batches.filter(({ tag }) => tag?.key === batch.key);
    return own.findLast(({ state }) => state !== "failed")?.id;
  }
}

function isGivenBack({ orphans }: BatchRow, id: string): boolean {
  return orphans.some(({ providerBatchId, action }) => providerBatchId === id && action === "foreign");
}

/** None for an account that runs lines itself. */
function indexOf({ account }: BatchRow): number {
  return Number(account.slice("sim".length));
}
