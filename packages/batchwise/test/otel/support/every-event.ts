// One of each event of a dispatcher, and an emitter that sends them as a dispatcher does.

import type { InstrumentedDispatcher } from "batchwise/otel";
import type {
  DispatcherEventName,
  DispatcherEvents,
  DispatcherListener,
} from "../../../src/dispatch/contract/events.ts";
import type { BatchRecord, DispatcherStats } from "../../../src/dispatch/contract/types.ts";

const of = { account: "openai", batch: "b1" } as const;
const lane = { endpoint: "/v1/chat/completions", model: "m" } as const;

export const BATCH: BatchRecord = {
  ...lane,
  key: "b1",
  account: "openai",
  state: "done",
  requests: 4,
  bytes: 800,
  tokens: 60,
  remaining: 0,
  createdAt: 1_000_000,
  updatedAt: 1_090_000,
  submitAttempt: 1,
  providerBatchId: "batch_1",
  providerState: "completed",
  lastError: null,
  orphans: [],
};

const sent = { ...of, requests: 4, bytes: 800, attempt: 1, result: "accepted", code: null } as const;
const counts = { succeeded: 3, failed: 1, cancelled: 0, expired: 0 };
const tokens = { inputTokens: 60, cachedTokens: 20, outputTokens: 40, reasoningTokens: 10 };

export const EVENTS: DispatcherEvents = {
  loops: { running: true },
  lanes: { lanes: [{ ...lane, waiting: 3, orMore: false, bytes: 600, tokens: 45, oldestAt: 1, oldestMs: 7_000 }] },
  batches: { states: [{ state: "running", count: 2, oldestMs: 90_000 }] },
  enqueue: { stored: 5, existing: 1, conflicts: 0 },
  seal: { ...of, ...lane, requests: 4, bytes: 800, tokens: 60, oldestMs: 30_000 },
  upload: { ...sent, durationMs: 500 },
  create: { ...sent, durationMs: 250 },
  adopt: { ...of, providerBatchId: "batch_1", verified: true, duplicates: 1 },
  poll: {
    ...of,
    result: "seen",
    providerState: "in_progress",
    counts: null,
    usage: null,
    code: null,
    listed: true,
    ageMs: 60_000,
  },
  collect: { ...of, lines: 4, durationMs: 100, code: null },
  usage: { ...of, ...lane, ...tokens, tenant: "acme", job: "night", ended: counts, price: 0.25 },
  batch: { batch: BATCH, ageMs: 90_000 },
  leaseLost: { ...of, reason: "taken" },
  quarantine: { ...of, code: "BATCH_GONE", message: "The provider does not know it.", requests: 4 },
  split: { ...of, kind: "halves", requests: 4, code: "invalid_request" },
  pause: { ...of, ledger: "openai/m", until: 2_000_000, code: "token_limit_exceeded" },
  delivery: { sink: "webhook", result: "dead", attempt: 12, statusCode: 503, durationMs: 20 },
  sweep: { account: "openai", calls: 2, duplicates: 1, filesDeleted: 3 },
  prune: { requests: 9, batches: 1, kept: 0, durationMs: 10 },
  clockStep: { steppedMs: 3_600_000, believed: false },
  setBack: { code: "STORE_SET_BACK", message: "The store has lost what it had answered for." },
};

const NO_BATCHES = {
  sealed: 0,
  submitting: 0,
  unknown: 0,
  waiting_capacity: 0,
  submitted: 0,
  running: 0,
  collecting: 0,
  quarantined: 0,
  done: 0,
};

const STATS: DispatcherStats = {
  lanes: [],
  ledgers: [
    { name: "openai", tokens: 60, requests: 4, batches: 2, learnedTokens: null, blockedUntil: 0 },
    { name: "groq", tokens: 0, requests: 0, batches: 0, learnedTokens: null, blockedUntil: 8.64e15 },
  ],
  batches: NO_BATCHES,
  inBatches: 4,
  nextTryAt: null,
  heldUntil: null,
  outcomes: counts,
  deliveriesWaiting: 11,
  paused: { accounts: [{ name: "mistral", since: 1, reason: null }], lanes: [] },
  ignoredResults: 0,
  duplicateBatches: 0,
};

/** Emits the events of a test to the listeners. */
export class Teller implements InstrumentedDispatcher {
  readonly #listeners: Map<DispatcherEventName, Set<(event: never) => void>> = new Map();

  on<Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): () => void {
    const all = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, all.add(listener));
    return () => all.delete(listener);
  }

  async stats(): Promise<DispatcherStats> {
    return STATS;
  }

  get listened(): readonly DispatcherEventName[] {
    return [...this.#listeners].filter(([, all]) => all.size > 0).map(([name]) => name);
  }

  tell<Name extends DispatcherEventName>(name: Name, event: DispatcherEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(event as never);
  }

  tellAll(): void {
    for (const [name, event] of Object.entries(EVENTS)) this.tell(name as DispatcherEventName, event as never);
  }

  /** The same calls to the provider once more, refused. */
  tellRefusals(): void {
    const refused = { result: "refused", code: "rate_limit_exceeded" } as const;
    this.tell("upload", { ...EVENTS.upload, ...refused });
    this.tell("create", { ...EVENTS.create, ...refused });
    this.tell("poll", { ...EVENTS.poll, result: "failed", code: "server_error" });
    this.tell("collect", { ...EVENTS.collect, code: "connection_lost" });
  }
}
