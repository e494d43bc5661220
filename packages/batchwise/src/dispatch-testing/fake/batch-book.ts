// Stores all batches that one surface has accepted, their lines, and which of these have run by
// now. All surfaces use it; each renders its batches itself. Nothing is ever removed.

import { serverFault } from "./answers.ts";
import { hashOf, seededRandom, shuffled } from "./random.ts";
import type { Settings } from "./settings.ts";
import { type Course, isOver, type Moment, momentOf } from "./timeline.ts";
import type { FakeAnswer, FakeBatchView, FakeExecution, FakeLine, FakeLineFault, FakePlan } from "./types.ts";

/** A failure that is shown without a message. */
export const SILENT: FakeLineFault = { code: "", message: "" };

/** One line of a batch. The body is kept as text and parsed when needed. */
export interface Entry {
  readonly customId: string;
  readonly identity: string;
  readonly endpoint: string;
  readonly body: string;
}

export interface NewBatch<Extra> {
  readonly id: string;
  readonly model: string;
  readonly tokens: number;
  readonly entries: readonly Entry[];
  readonly windowMs: number;
  readonly faults: readonly FakeLineFault[];
  readonly foreign: boolean;
  readonly extra: Extra;
}

export interface FakeBatch<Extra> extends NewBatch<Extra> {
  readonly course: Course;
  /** The order in which its lines run. */
  readonly order: ArrayLike<number>;
  /** Results of the first `upTo` lines in that order. */
  readonly tally: { upTo: number; failed: number; readonly statuses: Uint16Array };
}

/** A line with its result, or one that will never run in this batch. */
export interface Ending {
  readonly entry: Entry;
  /** null: it did not run. */
  readonly answer: FakeAnswer | null;
}

/** Rules in which the surfaces differ. */
export interface BookRules {
  /** A batch may fail as a whole after it was accepted. */
  readonly failsWhole: boolean;
  /** Checks one line when it runs; null if it is valid. */
  check(line: FakeLine): FakeAnswer | null;
}

export class BatchBook<Extra> {
  readonly #settings: Settings;
  readonly #rules: BookRules;
  readonly #batches: Map<string, FakeBatch<Extra>> = new Map();
  readonly #hidden: Set<string> = new Set();

  constructor(settings: Settings, rules: BookRules) {
    this.#settings = settings;
    this.#rules = rules;
  }

  add(batch: NewBatch<Extra>): FakeBatch<Extra> {
    const items = batch.entries.length;
    const index = this.#batches.size;
    const plan = this.#settings.planFor({ index, requests: items, model: batch.model });
    const later = this.#rules.failsWhole ? this.#laterFaults(batch, plan) : [];
    const acceptedAt = this.#settings.now();
    const random = seededRandom(this.#settings.seed * 7_919 + index);
    const added: FakeBatch<Extra> = {
      ...batch,
      course: {
        acceptedAt,
        items,
        plan,
        windowMs: batch.windowMs,
        faults: batch.faults.length > 0 ? batch.faults : later,
        cancelledAt: null,
      },
      order: plan.order === "shuffled" ? shuffled(items, random) : Uint32Array.from({ length: items }, (_, ord) => ord),
      tally: { upTo: 0, failed: 0, statuses: new Uint16Array(items) },
    };
    this.#batches.set(batch.id, added);
    return added;
  }

  /** Hides a batch that the client has deleted. Its runs still count. */
  hide(id: string): void {
    this.#hidden.add(id);
  }

  /** The batch, or undefined if it does not exist or is not readable yet. */
  get(id: string): FakeBatch<Extra> | undefined {
    const batch = this.#hidden.has(id) ? undefined : this.#batches.get(id);
    const readable =
      batch !== undefined && batch.course.acceptedAt + this.#settings.retrieveLagMs <= this.#settings.now();
    return readable ? batch : undefined;
  }

  cancel(batch: FakeBatch<Extra>): FakeBatch<Extra> {
    if (batch.course.cancelledAt !== null) return batch;
    const cancelled = { ...batch, course: { ...batch.course, cancelledAt: this.#settings.now() } };
    this.#batches.set(batch.id, cancelled);
    return cancelled;
  }

  /** The batches that a list shows by now, newest first. */
  listed(): FakeBatch<Extra>[] {
    const until = this.#settings.now() - this.#settings.listLagMs;
    return [...this.#batches.values()]
      .filter(({ id, course }) => course.acceptedAt <= until && !this.#hidden.has(id))
      .reverse();
  }

  /** The batches that have ended by now, at or after this time, hidden ones included. */
  *endedSince(since: number): Generator<FakeBatch<Extra>> {
    for (const batch of this.#batches.values()) {
      const { phase, endedAt } = this.moment(batch);
      if (isOver(phase) && endedAt !== null && endedAt >= since) yield batch;
    }
  }

  views(): Omit<FakeBatchView, "surface">[] {
    return [...this.#batches.values()].map((batch) => ({
      id: batch.id,
      state: this.moment(batch).phase,
      requests: batch.entries.length,
      acceptedAt: batch.course.acceptedAt,
      foreign: batch.foreign,
    }));
  }

  get size(): number {
    return this.#batches.size;
  }

  /** Number of batches that wait or run now, without other clients' batches. */
  get open(): number {
    let count = 0;
    for (const batch of this.#batches.values()) if (!batch.foreign && !isOver(this.moment(batch).phase)) count += 1;
    return count;
  }

  /** Number of batches that wait or run by now and satisfy `fits`, of any client. */
  openWhere(fits: (batch: FakeBatch<Extra>) => boolean): number {
    return [...this.#batches.values()].filter((batch) => fits(batch) && !isOver(this.moment(batch).phase)).length;
  }

  createdSince(since: number): number {
    let count = 0;
    for (const { course, foreign } of this.#batches.values()) if (course.acceptedAt > since && !foreign) count += 1;
    return count;
  }

  moment(batch: FakeBatch<Extra>): Moment {
    return momentOf(batch.course, this.#settings.now());
  }

  /**
   * Lines of this model, or of all, that are enqueued by now. A batch counts until it ends, a
   * failed one longer.
   */
  enqueued(model: string | null): { readonly tokens: number; readonly items: number } {
    let [tokens, items] = [0, 0];
    for (const batch of this.#batches.values()) {
      if ((model !== null && batch.model !== model) || !this.#counts(batch)) continue;
      tokens += batch.tokens;
      items += batch.entries.length;
    }
    return { tokens, items };
  }

  #counts(batch: FakeBatch<Extra>): boolean {
    const { phase, endedAt } = this.moment(batch);
    if (!isOver(phase)) return true;
    return phase === "failed" && this.#settings.now() < (endedAt ?? 0) + this.#settings.limits.failedCountsForMs;
  }

  #laterFaults(batch: NewBatch<Extra>, plan: FakePlan): readonly FakeLineFault[] {
    if (plan.failWith !== null) return [plan.failWith];
    if (plan.failSilently) return [SILENT];
    const limit = this.#settings.limits.enqueuedTokens;
    if (this.enqueued(batch.model).tokens + batch.tokens <= limit) return [];
    const message =
      `Enqueued token limit reached for ${batch.model} in organization org-fake. Limit: ${limit.toLocaleString("en-US")} enqueued tokens. ` +
      "Please try again once some in_progress batches have been completed.";
    return [{ code: "token_limit_exceeded", message }];
  }

  /** Number of lines that have succeeded and failed by now. */
  counts(batch: FakeBatch<Extra>): { readonly succeeded: number; readonly failed: number } {
    const { done } = this.moment(batch);
    const { tally } = batch;
    for (; tally.upTo < done; tally.upTo += 1) {
      const entry = batch.entries[batch.order[tally.upTo] as number] as Entry;
      const { status } = this.#answer(batch, entry);
      tally.statuses[tally.upTo] = status;
      if (status >= 300) tally.failed += 1;
    }
    return { succeeded: tally.upTo - tally.failed, failed: tally.failed };
  }

  /**
   * Yields the lines of an ended batch in the order of its results, with scripted gaps and
   * duplicates.
   */
  *endings(batch: FakeBatch<Extra>): Generator<Ending> {
    const { done } = this.moment(batch);
    const { missingLines, duplicateLines } = batch.course.plan;
    for (let place = missingLines; place < batch.entries.length; place += 1) yield this.#ending(batch, place, done);
    for (let place = missingLines; place < missingLines + duplicateLines && place < batch.entries.length; place += 1) {
      yield this.#ending(batch, place, done);
    }
  }

  #ending(batch: FakeBatch<Extra>, place: number, done: number): Ending {
    const entry = batch.entries[batch.order[place] as number] as Entry;
    return { entry, answer: place < done ? this.#answer(batch, entry) : null };
  }

  #answer(batch: FakeBatch<Extra>, entry: Entry): FakeAnswer {
    const share = batch.course.plan.failedShare;
    const unlucky = share > 0 && seededRandom(hashOf(entry.customId) + this.#settings.seed)() < share;
    if (unlucky) return serverFault(entry.endpoint, batch.course.plan.failedStatus);
    const line = lineOf(entry);
    return this.#rules.check(line) ?? this.#settings.answer(line);
  }

  *executions(): Generator<FakeExecution> {
    for (const batch of this.#batches.values()) {
      const { done, startedAt } = this.moment(batch);
      if (startedAt === null) continue;
      this.counts(batch);
      for (let place = 0; place < batch.entries.length; place += 1) {
        const { customId, identity } = batch.entries[batch.order[place] as number] as Entry;
        const { id: batchId, foreign, course, tally } = batch;
        const ran = place < done;
        const status = ran ? (tally.statuses[place] ?? null) : null;
        yield { batchId, customId, identity, acceptedAt: course.acceptedAt, ran, status, foreign };
      }
    }
  }
}

function lineOf(entry: Entry): FakeLine {
  return { customId: entry.customId, endpoint: entry.endpoint, body: JSON.parse(entry.body) };
}

/** The lines of another client's batch. */
export function foreignEntries(batchId: string, endpoint: string, requests: number): Entry[] {
  const body = '{"model":"foreign","max_tokens":1,"messages":[{"role":"user","content":"?"}]}';
  return Array.from({ length: requests }, (_, ord) => {
    const customId = `${batchId}-${ord}`;
    return { customId, identity: customId, endpoint, body };
  });
}
