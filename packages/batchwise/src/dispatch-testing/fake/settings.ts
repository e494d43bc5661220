// The fake's options with all defaults filled in, and the clock and random source that it shares.

import { createHash } from "node:crypto";
import { refuseUnknown } from "../../core/contract/validate.ts";
import type { Clock } from "../../core/time/clock.ts";
import { defaultAnswer } from "./answers.ts";
import { hashOf, seededRandom } from "./random.ts";
import type {
  FakeBatchFacts,
  FakeDialect,
  FakeLimits,
  FakeLine,
  FakeObjects,
  FakeOptions,
  FakeOwnSurface,
  FakePlan,
} from "./types.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const LIMITS: FakeLimits = {
  minLines: 1,
  maxLines: 50_000,
  namedFaults: 50,
  maxEmbeddingInputs: 50_000,
  maxLastingFiles: Number.POSITIVE_INFINITY,
  maxFileBytes: 200_000_000,
  maxItems: 100_000,
  maxBodyBytes: 256_000_000,
  maxCreateBytes: 20_971_520,
  maxUploadBytes: 2_000_000_000,
  concurrentBatches: 100,
  maxJobLines: 200_000,
  maxJobBytes: 1_000_000_000,
  claudeJobs: 4,
  enqueuedTokens: Number.POSITIVE_INFINITY,
  failedCountsForMs: 0,
  enqueuedItems: Number.POSITIVE_INFINITY,
  createsPerHour: 2_000,
};

const PLAN: FakePlan = {
  validateMs: MINUTE,
  runMs: 20 * MINUTE,
  finalizeMs: MINUTE,
  cancelMs: 2 * MINUTE,
  completesDespiteCancel: false,
  expiredShare: null,
  failWith: null,
  failSilently: false,
  failedNamesFiles: false,
  order: "shuffled",
  missingLines: 0,
  duplicateLines: 0,
  failedShare: 0,
  failedStatus: 500,
  emptyErrorFile: false,
  absentFile: "null",
  stateCase: "lower",
  resultsLagMs: 0,
  countsLagMs: 0,
  strangeState: null,
};

/**
 * Azure names absent files "", leaves an empty error file, and names both files of a failed batch.
 * Its states are capitalised, too.
 */
const DIALECT_PLANS: Readonly<Partial<Record<FakeDialect, Partial<FakePlan>>>> = {
  azure: { absentFile: "empty", emptyErrorFile: true, failedNamesFiles: true, stateCase: "capitalised" },
  together: { absentFile: "omitted", stateCase: "upper" },
  novita: { absentFile: "empty", stateCase: "upper", strangeState: "PROGRESS" },
};

/** Sources: Azure's page of quotas; Mistral's pages on batches and on known limitations. */
const DIALECT_LIMITS: Readonly<Partial<Record<FakeDialect | FakeOwnSurface, Partial<FakeLimits>>>> = {
  azure: { maxLastingFiles: 500 },
  dashscope: { maxFileBytes: 500_000_000 },
  siliconflow: { maxLines: 5_000, maxFileBytes: 1_000_000_000 },
  voyage: { maxLines: 100_000, maxFileBytes: 1_000_000_000, maxEmbeddingInputs: 100_000 },
  xai: { maxLines: 100_000, maxFileBytes: 48_000_000, createsPerHour: 3_600 },
  mistral: { maxLines: 100_000, maxFileBytes: 512_000_000, enqueuedItems: 1_000_000 },
};

export interface Settings {
  readonly clock: Clock;
  /** The provider's wall clock: the test's clock plus the skew. */
  now(): number;
  readonly random: () => number;
  readonly seed: number;
  /** Part of every id, so that another fake, or this one started later, does not repeat ids. */
  readonly mark: string;
  readonly dialect: FakeDialect;
  /** The surface that replaces OpenAI's; null: none. */
  readonly ownSurface: FakeOwnSurface | null;
  readonly limits: FakeLimits;
  readonly models: readonly string[] | null;
  readonly listLagMs: number;
  readonly retrieveLagMs: number;
  readonly fileRetentionMs: number;
  readonly filesPendingMs: number;
  readonly uploads: "redirect" | "direct";
  readonly answer: NonNullable<FakeOptions["answer"]>;
  readonly identify: NonNullable<FakeOptions["identify"]>;
  readonly faultOf: NonNullable<FakeOptions["faultOf"]>;
  readonly storage: FakeObjects | null;
  planFor(facts: FakeBatchFacts): FakePlan;
  /** Sets the plan of the next batch to be created. */
  planNext(plan: Partial<FakePlan>): void;
}

const OPTIONS: readonly (keyof FakeOptions)[] = [
  ...([
    "clock",
    "seed",
    "dialect",
    "limits",
    "plan",
    "models",
    "answer",
    "identify",
    "faultOf",
    "uploads",
    "storage",
  ] as const),
  ...(["listLagMs", "retrieveLagMs", "clockSkewMs", "fileRetentionMs", "filesPendingMs"] as const),
];

const wallClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (handle) => clearTimeout(handle as never),
};

/** @throws TypeError with `code: "INVALID_OPTION"` for an unknown option, limit or plan field */
export function resolveSettings(options: FakeOptions): Settings {
  refuseUnknown(options, OPTIONS);
  refuseUnknown(options.limits ?? {}, Object.keys(LIMITS), "limits.");
  if (typeof options.plan === "object") knownPlan(options.plan);
  const clock = options.clock ?? wallClock;
  const seed = options.seed ?? 1;
  const random = seededRandom(seed);
  const { dialect: spoken = "openai" } = options;
  const isOwn = spoken === "mistral" || spoken === "xai";
  const dialect = isOwn ? "openai" : spoken;
  const skew = options.clockSkewMs ?? 0;
  const next: Partial<FakePlan>[] = [];
  const usual = (facts: FakeBatchFacts): Partial<FakePlan> =>
    typeof options.plan === "function" ? options.plan(facts, random) : (options.plan ?? {});
  return {
    clock,
    now: () => clock.now() + skew,
    random,
    seed,
    mark: hashOf(`${seed} ${clock.now()}`).toString(16).padStart(8, "0"),
    dialect,
    ownSurface: isOwn ? spoken : null,
    limits: { ...LIMITS, ...DIALECT_LIMITS[spoken], ...options.limits },
    models: options.models ?? null,
    listLagMs: options.listLagMs ?? 0,
    retrieveLagMs: options.retrieveLagMs ?? 0,
    fileRetentionMs: options.fileRetentionMs ?? 30 * DAY,
    filesPendingMs: options.filesPendingMs ?? 0,
    uploads: options.uploads ?? "redirect",
    answer: options.answer ?? defaultAnswer,
    identify: options.identify ?? bodyDigest,
    faultOf: options.faultOf ?? (() => null),
    storage: options.storage ?? null,
    planFor: (facts) => ({ ...PLAN, ...DIALECT_PLANS[dialect], ...usual(facts), ...next.shift() }),
    planNext: (plan) => next.push(knownPlan(plan)),
  };
}

function knownPlan(plan: Partial<FakePlan>): Partial<FakePlan> {
  refuseUnknown(plan, Object.keys(PLAN), "plan.");
  return plan;
}

function bodyDigest({ body }: FakeLine): string {
  return createHash("sha256").update(JSON.stringify(body)).digest("base64url");
}
