// One run of the fault simulation: a few dispatchers on one store and up to three providers. Draws
// all faults from a seed, stops them after two hours, waits until nothing is left to do, and then
// compares the store's records with the providers'.

import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import { OUTCOME_CODES } from "../../../../src/dispatch/contract/errors.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import type { OutcomeRow } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import type { PruneInput } from "../../../../src/dispatch/contract/store/pruning.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { type VirtualClock, virtualClock } from "../../../../src/testing/index.ts";
import { isAtRest, SimProcess, START, seeded, storeDown } from "../world.ts";
import { cron } from "./sim-cron.ts";
import { SimFallback } from "./sim-fallback.ts";
import { DOOMED, SimOperator } from "./sim-operator.ts";
import { type Execution, type Fate, SIM_LIMITS, SimProvider } from "./sim-provider.ts";
import { PruningBooks } from "./sim-pruning.ts";
import { drawOutage, OUTAGE, REFUSALS, typoIn, WHOLE } from "./sim-refusals.ts";
import type { Report } from "./sim-report.ts";
import { askOf, KINDS, type Kind, statusOf } from "./sim-requests.ts";
import { planSteps } from "./sim-steps.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Longest time between the check of the deadlines and the provider's own create. */
const SENDING_MS = 6 * MINUTE;
const STORM_MS = 2 * HOUR;
const REST_WITHIN_MS = 7 * 24 * HOUR;

/** `byRuns`: processes do not start their loops; cron calls `runDue`. */
export const simulate = (seed: number, byRuns = false): Promise<Report> => new Simulation(seed, byRuns).run();

class Simulation {
  readonly #random: () => number;
  readonly #time: VirtualClock = virtualClock(START);
  readonly #store: Store = memoryStore();
  readonly #pruning: PruningBooks = new PruningBooks(this.#store);
  readonly #providers: SimProvider[] = [];
  readonly #kinds: Kind[] = [];
  readonly #alive: Set<{ readonly process: SimProcess; readonly dispatcher: Dispatcher }> = new Set();
  readonly #delivered: Map<string, number> = new Map();
  readonly #answered: Set<string> = new Set();
  readonly #cancelled: Set<string> = new Set();
  readonly #wanted: Set<string> = new Set();
  readonly #deadlines: Map<string, number> = new Map();
  readonly #jobs: Map<string, string> = new Map();
  readonly #operator: SimOperator;
  readonly #fallback: SimFallback;
  readonly #badness: number;
  /** Fewest lines that the providers take in a batch. */
  readonly #minLines: number;
  /** Every callback throws before this time, in one run of five. */
  readonly #callbackUpAt: number;
  /** In one run of four, rows are pruned about an hour after they were recorded. */
  readonly #retentionMs: number;
  readonly #byRuns: boolean;
  #isStormy = true;
  #kills = 0;
  #seed: number;

  constructor(seed: number, byRuns: boolean) {
    this.#byRuns = byRuns;
    this.#seed = seed * 1_000;
    this.#random = seeded(seed);
    this.#badness = this.#random();
    this.#callbackUpAt = START + (this.#random() < 0.2 ? this.#below(DAY) : 0);
    this.#retentionMs = this.#random() < 0.25 ? MINUTE + this.#below(HOUR) : Number.POSITIVE_INFINITY;
    this.#minLines = this.#random() < 0.25 ? 2 + this.#below(3) : 1;
    const count = 1 + this.#below(3);
    this.#fallback = new SimFallback(seed, { time: this.#time, isBad: () => this.#chance(0.2) });
    for (let index = 0; index < count; index += 1) this.#addProvider();
    if (this.#fallback.kind === "batches") this.#addProvider(true);
    this.#operator = new SimOperator({
      time: this.#time,
      store: this.#store,
      providers: this.#providers,
      below: (most) => this.#below(most),
      anybody: () => this.#anybody()?.dispatcher,
      mayEnd: (ids) => {
        for (const id of ids) this.#cancelled.add(id);
      },
    });
  }

  async run(): Promise<Report> {
    const processes = 2 + this.#below(3);
    for (let index = 0; index < processes; index += 1) this.#spawn();
    this.#plan();
    await this.#time.advance(STORM_MS);
    this.#isStormy = false;
    if (this.#alive.size === 0) this.#spawn();
    const end = this.#time.now() + REST_WITHIN_MS;
    while (!(await this.#isDone())) {
      if (this.#time.now() > end) break;
      await this.#operator.tidyUp();
      await this.#time.advance(5 * MINUTE);
    }
    const leftOver = this.#random() < 0.1 ? await this.#pruneAll() : null;
    const report = { ...(await this.#report()), leftOver };
    for (const { process } of this.#alive) process.kill();
    return report;
  }

  #prune(): void {
    const olderThanMs = this.#below(3) * this.#below(20 * MINUTE);
    this.#anybody()
      ?.dispatcher.prune({ olderThanMs })
      .catch(() => {});
  }

  /** Prunes everything some days later; returns the number of rows that remain. */
  async #pruneAll(): Promise<number> {
    await this.#time.advance(3 * DAY);
    const pruning = this.#anybody()?.dispatcher.prune({ olderThanMs: 0 });
    await this.#time.advance(MINUTE);
    await pruning;
    const outcomes = await this.#store.outcomes({ after: 0, limit: 100_000 });
    return outcomes.length + (await this.#store.batches({ limit: 100_000 })).length;
  }

  async #isDone(): Promise<boolean> {
    if (this.#wanted.size !== this.#answered.size || !(await isAtRest(this.#store, this.#time.now()))) return false;
    const { batches } = await this.#store.probe(1, this.#time.now());
    return Object.entries(batches).every(([state, count]) => state === "done" || count === 0);
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #chance(share: number): boolean {
    return this.#isStormy && !this.#fallback.isCalm && this.#random() < share * this.#badness * 2;
  }

  #addProvider(isFallback = false): void {
    const isHealthy = isFallback && this.#fallback.isCalm;
    const kind = KINDS[this.#below(KINDS.length)] as Kind;
    const lag = this.#below(60_000);
    const hasLimit = this.#random() < 0.4 && !isHealthy;
    const counts = this.#random() < 0.8;
    const refusalOf = isHealthy ? () => null : drawOutage(this.#random, START, STORM_MS, () => this.#time.now());
    const forgetsFrom =
      this.#random() < 0.4 && !this.#fallback.isCalm ? START + this.#below(STORM_MS) : Number.POSITIVE_INFINITY;
    const forgetsMs = this.#below(60 * MINUTE);
    const busyUntil = this.#random() < 0.3 && !this.#fallback.isCalm ? START + this.#below(STORM_MS) : 0;
    const provider = new SimProvider({
      time: this.#time,
      minLines: isFallback ? 1 : this.#minLines,
      byPlace: this.#seed % 3_000 === 0,
      fate: (operation) => {
        const isSending = operation === "upload" || operation === "create";
        const outage = isSending ? refusalOf("refused") : null;
        if (outage !== null) return { refuse: outage };
        const refuse = this.#isRefusedInCalm(isHealthy) && isSending ? this.#fallback.refusalInCalm() : null;
        return refuse === null ? this.#fate(operation) : { refuse };
      },
      listLagMs: () => this.#below(lag + 1),
      counts,
      forgets: () => this.#time.now() >= forgetsFrom && this.#time.now() < forgetsFrom + forgetsMs,
      shuffle: this.#random,
      ...(hasLimit ? { enqueuedTokens: 150 + this.#below(400) } : {}),
      plan: ({ index, identities }) => {
        const isLate = this.#chance(0.1);
        return {
          validateMs: this.#below(2 * MINUTE),
          runMs: this.#below(40 * MINUTE),
          // A busy provider's 529 costs no request a try.
          statusOf: this.#time.now() < busyUntil ? () => 529 : statusOf,
          failure:
            refusalOf("failed") ?? (this.#chance(0.08) ? { ...WHOLE, code: `failed-${index}` } : typoIn(identities)),
          notRun: (identity: string) => isLate && identity.length % 2 === 0,
          cutAfter: this.#chance(0.2) ? this.#below(5) : null,
          // Without counts, a short answer looks like a whole one.
          short: counts && this.#chance(0.2) ? { lines: this.#below(8) - 1, forMs: this.#below(20 * MINUTE) } : null,
        };
      },
    });
    this.#providers.push(provider);
    this.#kinds.push(kind);
  }

  #isRefusedInCalm(isHealthy: boolean): boolean {
    return this.#isStormy && this.#fallback.isCalm && !isHealthy;
  }

  #fate(operation: string): Fate {
    const slow = operation === "create" ? 150_000 : 55_000;
    const fate: { -readonly [name in keyof Fate]: Fate[name] } = {};
    if (this.#chance(0.15)) fate.actAfterMs = this.#below(slow);
    if (this.#chance(0.1)) fate.replyAfterMs = this.#below(90_000);
    if (this.#chance(0.1)) fate.drop = this.#random() < 0.5 ? "before" : "after";
    if (this.#chance(0.08)) fate.refuse = REFUSALS[this.#below(REFUSALS.length)] as Failure;
    return fate;
  }

  #accounts(process: SimProcess): Account[] {
    const accounts = this.#providers.map((provider, index) => {
      const { tag, maxInlineBytes } = this.#kinds[index] as Kind;
      const fallback = this.#fallback.kind === "batches" && index === this.#providers.length - 1;
      const sizes = { minRequests: fallback ? 1 : this.#minLines, maxRequests: 15 };
      const maxEnqueuedTokens = fallback && this.#fallback.isCalm ? Number.POSITIVE_INFINITY : 2_000;
      const limits = { ...SIM_LIMITS, maxEnqueuedTokens, ...sizes };
      const capabilities = { tag, maxInlineBytes, limits, ledgerScope: "account", fallback } as const;
      return provider.account(capabilities, { name: `sim${index}` });
    });
    return [...accounts, ...this.#fallback.accounts()].map((account) =>
      process.wrap(account, (_name, call) => this.#killed(process, call)),
    );
  }

  /** May kill the process just before a call, or after it and before its answer is read. */
  async #killed(process: SimProcess, call: () => Promise<unknown>): Promise<unknown> {
    if (this.#chance(0.004)) this.#kill(process);
    if (process.isDead) return new Promise(() => {});
    try {
      return await call();
    } finally {
      if (this.#chance(0.004)) this.#kill(process);
    }
  }

  #storeOf(process: SimProcess): Store {
    return process.wrap(this.#store, async (name, call, given) => {
      if (this.#chance(0.03)) throw storeDown();
      if (this.#chance(0.05)) await this.#sleep(this.#below(2_000));
      const watched = name === "prune" ? () => this.#pruning.prune(given[0] as PruneInput) : call;
      const answer = await this.#killed(process, watched);
      // The process sleeps between a write and the step that the write prepares.
      if (this.#chance(0.004)) process.sleep(this.#below(20 * MINUTE));
      if (this.#chance(0.03)) throw storeDown();
      return answer;
    });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#time.setTimeout(resolve, ms);
    });
  }

  #spawn(): void {
    const process = new SimProcess(this.#time, this.#below(40_000) - 20_000);
    this.#seed += 1;
    const dispatcher = createDispatcher({
      store: this.#storeOf(process),
      accounts: this.#accounts(process),
      clock: process.clock,
      random: seeded(this.#seed),
      onTail: "fail",
      retentionMs: this.#retentionMs,
      thresholds: { maxRequests: 12, maxAgeMs: 5 * MINUTE },
      onOutcome: ({ id }) => {
        const isDown = this.#time.now() < this.#callbackUpAt;
        if (isDown || this.#chance(0.1)) throw new Error("The listener failed.");
        this.#delivered.set(id, (this.#delivered.get(id) ?? 0) + 1);
      },
    });
    void (this.#byRuns ? this.#cron(process, dispatcher) : dispatcher.start());
    // The first call may have killed the process.
    if (!process.isDead) this.#alive.add({ process, dispatcher });
  }

  #cron(process: SimProcess, dispatcher: Dispatcher): void {
    const everyMs = (): number => (this.#isStormy ? (this.#fallback.isCalm ? 1 : 3) : 10) * MINUTE;
    cron({ time: this.#time, process, dispatcher, everyMs, random: this.#random, mayAbort: () => this.#chance(0.1) });
  }

  #kill(process: SimProcess): void {
    process.kill();
    this.#kills += 1;
    for (const one of this.#alive) if (one.process === process) this.#alive.delete(one);
    this.#time.setTimeout(() => this.#spawn(), this.#below(5 * MINUTE));
  }

  /** Schedules requests, cancels, prunes, pauses, sleeps and clock steps. */
  #plan(): void {
    const kinds = ["good", "good", "good", "good", "good", "bad", "flaky", "silent", "dead", "typo"];
    const count = 20 + this.#below(80);
    for (let index = 0; index < count; index += 1) {
      const short = `${kinds[this.#below(kinds.length)]}-${index}`;
      // Large ones need a good part of a limit on tokens.
      const name = index % 12 === 0 ? short.padEnd(200, "-") : short;
      this.#wanted.add(name);
      if (index % 10 === 9) this.#jobs.set(name, DOOMED);
      this.#time.setTimeout(() => this.#enqueue(name), this.#below(HOUR));
      if (this.#random() < 0.1) this.#time.setTimeout(() => this.#cancel(name), this.#below(STORM_MS));
      if (this.#random() < this.#fallback.shareWithDeadline) this.#deadlines.set(name, START + this.#below(STORM_MS));
    }
    if (this.#fallback.isCalm) this.#operator.planPauses(STORM_MS, this.#usual);
    else this.#operator.plan(STORM_MS);
    for (let prunes = this.#below(4); prunes > 0; prunes -= 1) {
      this.#time.setTimeout(() => this.#prune(), this.#below(STORM_MS));
    }
    if (this.#fallback.isCalm) return;
    for (let naps = this.#below(10); naps > 0; naps -= 1) {
      this.#time.setTimeout(() => this.#anybody()?.process.sleep(this.#below(20 * MINUTE)), this.#below(STORM_MS));
    }
    // A run believes the wall clock as it is when it begins.
    if (!this.#byRuns) planSteps(this.#time, { forMs: STORM_MS, random: this.#random, anybody: () => this.#anybody() });
  }

  /** Number of accounts that are not a fallback. */
  get #usual(): number {
    return this.#providers.length - (this.#fallback.kind === "batches" ? 1 : 0);
  }

  #anybody(): { readonly process: SimProcess; readonly dispatcher: Dispatcher } | undefined {
    return [...this.#alive][this.#below(this.#alive.size)];
  }

  /** Enqueues again every minute until a call resolves, through any live process. */
  #enqueue(name: string): void {
    if (this.#answered.has(name)) return;
    this.#time.setTimeout(() => this.#enqueue(name), MINUTE);
    const deadlineAt = this.#deadlines.get(name);
    const job = this.#jobs.get(name) ?? "";
    this.#anybody()
      ?.dispatcher.enqueue({ ...askOf(name), job, ...(deadlineAt === undefined ? {} : { deadlineAt }) })
      .then(
        () => {
          this.#answered.add(name);
          this.#fallback.stored(name, this.#time.now());
        },
        () => {},
      );
  }

  #cancel(name: string): void {
    this.#cancelled.add(name);
    this.#anybody()
      ?.dispatcher.cancel(name)
      .catch(() => {});
  }

  #isRight({ id, status, payload, recordedAt }: OutcomeRow): boolean {
    if (payload.includes(OUTCOME_CODES.belowMinimum)) {
      return status === "failed" && this.#minLines > 1 && this.#fallback.kind === "none";
    }
    if (status === "succeeded" && !payload.includes(JSON.stringify({ answer: id }))) return false;
    // A clock that stepped for some minutes has recorded and expired nothing.
    if (recordedAt < START - MINUTE || recordedAt > this.#time.now() + MINUTE) return false;
    if (payload.includes(OUTCOME_CODES.expired) && recordedAt < (this.#deadlines.get(id) ?? Infinity)) return false;
    if (status === "cancelled") return this.#cancelled.has(id) || this.#jobs.get(id) === DOOMED;
    if (/^(?:bad|dead|typo)/.test(id)) return status === "failed" || status === "expired";
    // Faults of the provider may use up all tries of a request that would have succeeded.
    return true;
  }

  /** True if it ran too long after its deadline, with an allowance for uploads and clock skew. */
  #isLate({ identity, sentAt }: Execution): boolean {
    const deadlineAt = this.#deadlines.get(identity);
    return deadlineAt !== undefined && sentAt > deadlineAt + SENDING_MS;
  }

  async #report(): Promise<Omit<Report, "leftOver">> {
    const outcomes = [...(await this.#store.outcomes({ after: 0, limit: 100_000 })), ...this.#pruning.outcomes];
    const counts = new Map<string, number>();
    for (const { id } of outcomes) counts.set(id, (counts.get(id) ?? 0) + 1);
    const batches = await this.#store.batches({ limit: 100_000 });
    const ranTwice = new Map<string, number>();
    for (const provider of this.#providers) {
      for (const [id, count] of provider.successes()) ranTwice.set(id, (ranTwice.get(id) ?? 0) + count);
    }
    return {
      requests: this.#answered.size,
      outcomes: outcomes.length,
      kills: this.#kills,
      batches: batches.length,
      lost: [...this.#wanted].filter((id) => !counts.has(id)),
      repeatedOutcomes: [...counts].filter(([, count]) => count > 1).map(([id]) => id),
      blamed: outcomes
        .filter(({ payload }) => payload.includes(OUTAGE.code) || payload.includes('"statusCode":529'))
        .map(({ id }) => id),
      wrong: outcomes.filter((outcome) => !this.#isRight(outcome)).map(({ id, status }) => `${id} ${status}`),
      ranTwice: [...ranTwice].filter(([id, count]) => count > 1 && this.#wanted.has(id)).map(([id]) => id),
      sentLate: [...this.#providers, this.#fallback].flatMap(({ executions }) =>
        executions.filter((each) => this.#isLate(each)).map(({ identity }) => identity),
      ),
      expiredNeedlessly: this.#fallback.expiredNeedlessly(outcomes, this.#deadlines, this.#providers),
      notDelivered: outcomes.filter(({ id }) => !this.#delivered.has(id)).map(({ id }) => id),
      sentWhilePaused: this.#operator.sentWhilePaused(),
      unendedBatches: batches.filter(({ state }) => state !== "done").map(({ key, state }) => `${key} ${state}`),
      pruned: this.#pruning.outcomes.length,
      wronglyPruned: await this.#pruning.finish(),
    };
  }
}
