// A Batch API in a few lines, as an Account, for scenarios and simulations of the dispatcher. The
// test decides the result of each call, in virtual time, without a wire format. Records every line
// that it ran.

import type { Account, CreateInput, ProviderBatch, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { Capabilities, ProviderLimits } from "../../../../src/dispatch/contract/capabilities.ts";
import { DispatchError } from "../../../../src/dispatch/contract/errors.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { customId, openaiLine } from "../../../../src/dispatch/format/encode.ts";
import { gather, parseLine, resultOf } from "./sim-lines.ts";

export interface SimTime {
  now(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
}

/** The course of one call. Times are in ms. */
export interface Fate {
  /** Done this long after the client sent it, whether or not the client still waits. */
  readonly actAfterMs?: number;
  readonly replyAfterMs?: number;
  /** `before`: never done. `after`: done, but the answer is lost. */
  readonly drop?: "before" | "after";
  /** Refused with this, and not done. */
  readonly refuse?: Failure;
}

interface SimPlan {
  readonly validateMs: number;
  readonly runMs: number;
  /** Accepted, then failed as a whole. */
  readonly failure: Failure | null;
  /** Ends as expired after `runMs`, with these lines not run. */
  readonly notRun: (identity: string) => boolean;
  /** Status of the nth run of a request; 0: a line without a reason; -1: no line. */
  readonly statusOf: (identity: string, run: number) => number;
  /** Results break off after this many lines, the first time they are read. */
  readonly cutAfter: number | null;
  /**
   * For so long after the end the results are only so many lines, or, with -1, nowhere to be found.
   */
  readonly short: { readonly lines: number; readonly forMs: number } | null;
}

interface SimBatch {
  readonly id: string;
  readonly createdAt: number;
  readonly sentAt: number;
  readonly key: string;
  readonly attempt: number;
  readonly token: string;
  readonly fileId: string | null;
  readonly lines: readonly { readonly customId: string; readonly identity: string; readonly tokens: number }[];
  readonly plan: SimPlan;
  readonly failure: Failure | null;
  readonly visibleAt: number;
  readonly isForeign: boolean;
  cancelledAt: number | null;
  results: readonly ResultLine[] | null;
  ran: number;
  isCut: boolean;
}

export interface SimOptions {
  readonly time: SimTime;
  readonly fate?: (operation: string) => Fate;
  readonly plan?: (batch: { readonly index: number; readonly identities: readonly string[] }) => Partial<SimPlan>;
  readonly listLagMs?: () => number;
  readonly enqueuedTokens?: number;
  /** Batches of fewer lines fail. */
  readonly minLines?: number;
  /** Whether ended batches report how many of their requests ran. Default true. */
  readonly counts?: boolean;
  readonly shuffle?: () => number;
  /**
   * Lines come back without their ids, and are named by their place in the input. Default false.
   */
  readonly byPlace?: boolean;
  /** While this is true, no batch can be had by its id; lists show it. */
  readonly forgets?: () => boolean;
}

export interface Execution {
  readonly identity: string;
  readonly batchId: string;
  readonly key: string;
  readonly status: number;
  /** When its create was first sent. */
  readonly sentAt: number;
}

/** An error that `classify` knows. */
export class SimError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

const LOST: Failure = { kind: "unknown", code: "connection_lost", message: "The connection was lost." };

const PLAN: SimPlan = {
  validateMs: 10_000,
  runMs: 600_000,
  failure: null,
  notRun: () => false,
  statusOf: () => 200,
  cutAfter: null,
  short: null,
};

export const SIM_LIMITS: ProviderLimits = {
  maxRequests: 50_000,
  maxBytes: 200_000_000,
  maxTokens: Number.POSITIVE_INFINITY,
  minRequests: 1,
  maxEnqueuedTokens: Number.POSITIVE_INFINITY,
  maxEnqueuedRequests: Number.POSITIVE_INFINITY,
  maxEnqueuedBatches: Number.POSITIVE_INFINITY,
};

export class SimProvider {
  readonly #options: SimOptions;
  readonly #batches: SimBatch[] = [];
  readonly #files: Map<string, string[]> = new Map();
  readonly #runs: Map<string, number> = new Map();
  readonly executions: Execution[] = [];
  readonly #triedAt: Map<string, number> = new Map();
  /** Calls by operation. */
  readonly calls: Map<string, number> = new Map();

  constructor(options: SimOptions) {
    this.#options = options;
  }

  /** Batches by now, with their states as of now. */
  get batches(): readonly ProviderBatch[] {
    return this.#batches.map((batch) => this.#view(batch));
  }

  /** Successful runs of each request. */
  successes(): Map<string, number> {
    this.#advance();
    const counts = new Map<string, number>();
    for (const { identity, status } of this.executions) {
      if (status === 200) counts.set(identity, (counts.get(identity) ?? 0) + 1);
    }
    return counts;
  }

  /** True where a create with this request was accepted, whatever became of it. */
  hasTaken(identity: string): boolean {
    return this.#batches.some(({ lines }) => lines.some((line) => line.identity === identity));
  }

  addForeign(requests: number): void {
    const lines = Array.from({ length: requests }, (_, index) => ({
      customId: `stranger-${index}`,
      identity: `stranger-${this.#batches.length}-${index}`,
      tokens: 1,
    }));
    this.#accept({ key: "stranger", attempt: 1, token: "stranger", fileId: null, lines, isForeign: true });
  }

  account(capabilities: Partial<Capabilities> = {}, more: Partial<Account> = {}): Account {
    const record: Capabilities = {
      provider: "sim",
      endpoints: ["/v1/chat/completions", "/v1/embeddings"],
      maxInlineBytes: 0,
      tag: "metadata",
      list: { paged: true, pageSize: 20, newestFirst: true },
      listsFiles: false,
      ledgerScope: "model",
      limits: SIM_LIMITS,
      ...capabilities,
    };
    return {
      name: "sim",
      capabilities: record,
      models: null,
      weight: 1,
      pollMs: 30_000,
      requestTimeoutMs: 60_000,
      reconcileGraceMs: 300_000,
      encodeLine: openaiLine,
      checkBody: (_endpoint, body) => {
        if (body.stream === true) throw new DispatchError("INVALID_REQUEST", "`stream` is not possible in a batch.");
      },
      isNamedByPlace: () => this.#options.byPlace === true,
      classify: (error) => (error instanceof SimError ? error.failure : LOST),
      upload: (input) => this.#call("upload", async () => this.#keep(await gather(input.lines()))),
      create: (input) => this.#create(input, record),
      list: ({ cursor, limit }) => this.#call("list", async () => this.#list(Number(cursor ?? 0), limit, record)),
      retrieve: (id) => this.#call("retrieve", async () => this.#find(id, record)),
      cancel: (id) => this.#call("cancel", async () => this.#cancel(id, record)),
      results: (batch) => this.#results(batch.id),
      ...more,
    };
  }

  #keep(lines: string[]): { fileId: string } {
    const fileId = `file-${this.#files.size + 1}`;
    this.#files.set(fileId, lines);
    return { fileId };
  }

  async #create(input: CreateInput, record: Capabilities): Promise<ProviderBatch> {
    // An inline create carries its lines, which are read before it is sent.
    const given = "fileId" in input.input ? null : await gather(input.input.lines());
    const { key, attempt } = input;
    const { byPlace = false } = this.#options;
    const token = `${key}-${attempt}`;
    // Later tries of a create under its token are the same create. It is unknown whether a process
    // that died after its intent has sent a create with its lines: it counts as sent at any time.
    if (record.tag === "idempotencyToken" && !this.#triedAt.has(token)) {
      this.#triedAt.set(token, given === null ? this.#options.time.now() : Number.NEGATIVE_INFINITY);
    }
    return this.#call("create", async () => {
      const fileId = "fileId" in input.input ? input.input.fileId : null;
      const read = (given ?? this.#files.get(fileId as string) ?? []).map(parseLine);
      const lines = read.map((line, place) => (byPlace ? { ...line, customId: customId(key, place) } : line));
      const same = record.tag === "idempotencyToken" ? this.#batches.find((batch) => batch.token === token) : undefined;
      const batch = same ?? this.#accept({ key, attempt, token, fileId, lines, isForeign: false });
      return shown(this.#view(batch), record);
    });
  }

  #accept(of: Pick<SimBatch, "key" | "attempt" | "token" | "fileId" | "lines" | "isForeign">): SimBatch {
    const index = this.#batches.length;
    const identities = of.lines.map(({ identity }) => identity);
    const plan = { ...PLAN, ...this.#options.plan?.({ index, identities }) };
    const createdAt = this.#options.time.now();
    const batch: SimBatch = {
      ...of,
      id: `batch-${index + 1}`,
      createdAt,
      sentAt: this.#triedAt.get(of.token) ?? createdAt,
      plan,
      failure: plan.failure ?? this.#underMinimum(of.lines) ?? this.#overLimit(of.lines),
      visibleAt: createdAt + (this.#options.listLagMs?.() ?? 0),
      cancelledAt: null,
      results: null,
      ran: 0,
      isCut: false,
    };
    this.#batches.push(batch);
    return batch;
  }

  #underMinimum({ length }: SimBatch["lines"]): Failure | null {
    const { minLines = 1 } = this.#options;
    if (length >= minLines) return null;
    return { kind: "invalidRequest", code: "too_few_lines", message: `Fewer than ${minLines} lines.`, lines: [] };
  }

  #overLimit(lines: SimBatch["lines"]): Failure | null {
    const limit = this.#options.enqueuedTokens ?? Number.POSITIVE_INFINITY;
    const active = this.#batches.filter((batch) => ["validating", "running"].includes(this.#state(batch)));
    const booked = [...active.flatMap((batch) => batch.lines), ...lines].reduce((sum, line) => sum + line.tokens, 0);
    if (booked <= limit) return null;
    const message = `Enqueued token limit reached. Limit: ${limit} enqueued tokens.`;
    return { kind: "tokenLimit", code: "token_limit_exceeded", message, limitTokens: limit };
  }

  #state(batch: SimBatch): ProviderBatch["state"] {
    const age = this.#options.time.now() - batch.createdAt;
    const ends = batch.plan.validateMs + batch.plan.runMs;
    if (batch.failure !== null) return age < batch.plan.validateMs ? "validating" : "failed";
    if (batch.cancelledAt !== null && batch.cancelledAt < batch.createdAt + ends) return "cancelled";
    if (age < batch.plan.validateMs) return "validating";
    if (age < ends) return "running";
    return batch.lines.some(({ identity }) => batch.plan.notRun(identity)) ? "expired" : "done";
  }

  #view(batch: SimBatch): ProviderBatch {
    const state = this.#state(batch);
    const hasEnded = state !== "validating" && state !== "running";
    if (hasEnded) this.#run(batch, state);
    const hasResults = hasEnded && state !== "failed" && this.#shortTo(batch) !== -1;
    return {
      id: batch.id,
      state,
      rawState: state,
      createdAt: batch.createdAt,
      expiresAt: batch.createdAt + 86_400_000,
      tag: batch.isForeign ? null : { key: batch.key, attempt: batch.attempt },
      inputFileId: batch.fileId,
      total: batch.lines.length,
      settled: hasEnded ? batch.lines.length : 0,
      ran: hasEnded && this.#options.counts !== false ? batch.ran : null,
      resultRefs: hasResults ? ["results"] : [],
      failure: state === "failed" ? batch.failure : null,
    };
  }

  /** How many lines its results have by now. */
  #shortTo({ createdAt, plan, cancelledAt }: SimBatch): number {
    const endedAt = Math.max(cancelledAt ?? 0, createdAt + plan.validateMs + plan.runMs);
    const isShort = plan.short !== null && this.#options.time.now() < endedAt + plan.short.forMs;
    return isShort && plan.short !== null ? plan.short.lines : Number.POSITIVE_INFINITY;
  }

  /** Ends every batch whose time has passed, also those that are no longer polled. */
  #advance(): void {
    for (const batch of this.#batches) this.#view(batch);
  }

  #run(batch: SimBatch, state: ProviderBatch["state"]): void {
    if (batch.results !== null) return;
    const results: ResultLine[] = [];
    for (const { customId, identity } of batch.lines) {
      if (state === "failed") break;
      if (state === "cancelled" || batch.plan.notRun(identity)) {
        const code = state === "cancelled" ? "batch_cancelled" : "batch_expired";
        results.push({ customId, response: null, error: { code, message: code }, usage: null });
        continue;
      }
      const run = (this.#runs.get(identity) ?? 0) + 1;
      this.#runs.set(identity, run);
      batch.ran += 1;
      const status = batch.plan.statusOf(identity, run);
      this.executions.push({ identity, batchId: batch.id, key: batch.key, status, sentAt: batch.sentAt });
      if (status >= 0) results.push(resultOf(customId, identity, status));
    }
    const { shuffle } = this.#options;
    if (shuffle !== undefined) results.sort(() => shuffle() - 0.5);
    batch.results = results;
  }

  #list(from: number, limit: number, record: Capabilities): { batches: ProviderBatch[]; next: string | null } {
    const now = this.#options.time.now();
    const visible = this.#batches.filter((batch) => batch.visibleAt <= now).toReversed();
    const batches = visible.slice(from, from + limit).map((batch) => shown(this.#view(batch), record));
    return { batches, next: from + limit < visible.length ? String(from + limit) : null };
  }

  #find(id: string, record: Capabilities): ProviderBatch | null {
    const batch = this.#batches.find((other) => other.id === id);
    return batch === undefined || this.#options.forgets?.() === true ? null : shown(this.#view(batch), record);
  }

  #cancel(id: string, record: Capabilities): ProviderBatch {
    const batch = this.#batches.find((other) => other.id === id);
    if (batch === undefined) throw new SimError({ ...LOST, kind: "definitelyNotCreated" });
    this.#view(batch);
    if (batch.results === null) batch.cancelledAt ??= this.#options.time.now();
    return shown(this.#view(batch), record);
  }

  async *#results(id: string): AsyncGenerator<ResultLine> {
    const batch = this.#batches.find((other) => other.id === id);
    const lines = await this.#call("results", async () => batch?.results ?? []);
    const { cutAfter } = batch?.plan ?? PLAN;
    const most = batch === undefined ? 0 : this.#shortTo(batch);
    for (const [index, line] of lines.entries()) {
      if (index >= most) return;
      if (batch !== undefined && !batch.isCut && cutAfter === index) {
        batch.isCut = true;
        throw new DispatchError("RESULTS_UNREADABLE", "The results were cut.");
      }
      yield line;
    }
  }

  async #call<T>(operation: string, act: () => Promise<T>): Promise<T> {
    this.calls.set(operation, (this.calls.get(operation) ?? 0) + 1);
    const fate = this.#options.fate?.(operation) ?? {};
    if (fate.refuse !== undefined) throw new SimError(fate.refuse);
    await this.#sleep(fate.actAfterMs ?? 0);
    if (fate.drop === "before") throw new SimError(LOST);
    const answer = await act();
    await this.#sleep(fate.replyAfterMs ?? 0);
    if (fate.drop === "after") throw new SimError(LOST);
    return answer;
  }

  #sleep(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#options.time.setTimeout(resolve, ms);
    });
  }
}

/** The part of a batch that this kind of provider returns. */
function shown(batch: ProviderBatch, { tag, maxInlineBytes }: Capabilities): ProviderBatch {
  return {
    ...batch,
    tag: tag === "metadata" ? batch.tag : null,
    inputFileId: maxInlineBytes === Number.POSITIVE_INFINITY ? null : batch.inputFileId,
  };
}
