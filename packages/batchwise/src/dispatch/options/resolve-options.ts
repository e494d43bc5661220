// Checks the options of createDispatcher, fills in defaults and freezes them, once. Afterwards no
// field is optional. Wrong type: TypeError; out of range: RangeError; both carry
// `code: "INVALID_OPTION"`.

import { ignoreIfPromise } from "../../core/contract/thenable.ts";
import {
  aBoolean,
  aboveZero,
  aFunction,
  check,
  checkIsObject,
  finiteIntegerFrom,
  invalidOption,
  objectWith,
  oneOf,
  refuseUnknown,
  unboundedIntegerFrom,
  zeroOrMore,
} from "../../core/contract/validate.ts";
import type { Clock } from "../../core/time/clock.ts";
import { STUCK_AFTER_MS } from "../batches/stuck.ts";
import type { Account } from "../contract/account.ts";
import type { OutputCheck } from "../contract/checks.ts";
import type { PriceTable } from "../contract/cost.ts";
import type {
  DispatchClock,
  DispatcherOptions,
  ErrorContext,
  RetryOptions,
  WebhookOptions,
} from "../contract/dispatcher-options.ts";
import type { EndedBatch } from "../contract/events.ts";
import type { Store } from "../contract/store/store.ts";
import type { JsonObject, LoggedOutcome, Thresholds } from "../contract/types.ts";
import { checkAddress } from "../format/address.ts";
import { checkMark, ulid } from "../format/encode.ts";
import { storedCode } from "../format/stored-code.ts";
import { type ResolvedMaxPrice, resolveMaxPrice } from "../prices/max-price.ts";
import { resolvePrices } from "../prices/resolve-prices.ts";
import { DISPATCHER_HINTS } from "./foreign-names.ts";
import { checkStore, nonEmptyString, resolveAccounts } from "./resolve-accounts.ts";

/** The check of answers. */
export interface ResolvedCheck {
  /** On the lanes of requests that are checked so. */
  readonly mark: string;
  readonly run: OutputCheck;
  /** The next try gets the answer and the reason. */
  readonly reask: boolean;
  /** Sent with requests whose accounts take it; null for none. */
  readonly jsonSchema: JsonObject | null;
}

export interface ResolvedOptions {
  readonly store: Store;
  readonly accounts: ReadonlyMap<string, Account>;
  readonly thresholds: Thresholds;
  readonly requestDefaults: JsonObject;
  readonly checkBodies: boolean;
  /** null for none. */
  readonly check: ResolvedCheck | null;
  readonly leaseMs: number;
  readonly retry: Required<RetryOptions>;
  readonly stuckAfterMs: number;
  readonly retentionMs: number;
  readonly tombstoneRetentionMs: number;
  readonly onOutcome: ((outcome: LoggedOutcome) => void | Promise<void>) | null;
  readonly onBatch: ((batch: EndedBatch) => void | Promise<void>) | null;
  readonly webhook: Required<WebhookOptions> | null;
  readonly onTail: "wait" | "fail";
  readonly prices: PriceTable;
  /** null for none. */
  readonly maxPrice: ResolvedMaxPrice | null;
  /**
   * null: each error code is printed once per process. On a clock of the caller's, nothing is
   * printed.
   */
  readonly onError: ((error: unknown, context: ErrorContext) => void) | null;
  readonly failpoint: (name: string) => void | Promise<void>;
  readonly owner: string;
  readonly clock: DispatchClock;
  /** The caller passed a clock, as tests do. */
  readonly isClockGiven: boolean;
  readonly random: () => number;
}

export const DISPATCHER_OPTIONS: readonly (keyof DispatcherOptions)[] = [
  "store",
  "accounts",
  "thresholds",
  "requestDefaults",
  "checkBodies",
  "check",
  "reask",
  "leaseMs",
  "retry",
  "stuckAfterMs",
  "retentionMs",
  "tombstoneRetentionMs",
  "onOutcome",
  "onBatch",
  "webhook",
  "onTail",
  "prices",
  "maxPrice",
  "onError",
  "failpoint",
  "owner",
  "clock",
  "random",
];

const THRESHOLDS: Thresholds = {
  maxRequests: 50_000,
  maxBytes: 200_000_000,
  maxTokens: Number.POSITIVE_INFINITY,
  maxAgeMs: 7_200_000,
};

const RETRY: Required<RetryOptions> = { attempts: 3, backoffMs: 30_000, maxBackoffMs: 3_600_000 };

const wallClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (handle) => clearTimeout(handle as never),
};

/** The clock with its optional methods filled in. */
function resolveClock(clock: Clock): DispatchClock {
  check("clock", objectWith("now", "setTimeout", "clearTimeout"), clock);
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic?.() ?? clock.now(),
    setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
    clearTimeout: (handle) => clock.clearTimeout(handle),
    hold: (work, atMostMs) => clock.hold?.(work, atMostMs) ?? work,
  };
}

export function resolveOptions(options: DispatcherOptions): ResolvedOptions {
  check("options", objectWith(), options);
  refuseUnknown(options, DISPATCHER_OPTIONS, "", DISPATCHER_HINTS);
  checkStore(options.store);
  const { leaseMs = 90_000, random = goodChance(), onOutcome = null, onBatch = null } = options;
  check("leaseMs", finiteIntegerFrom(1_000), leaseMs);
  const clock = resolveClock(options.clock ?? wallClock);
  check("random", aFunction, random);
  const { checkBodies = true } = options;
  check("checkBodies", aBoolean, checkBodies);
  if (onOutcome !== null) check("onOutcome", aFunction, onOutcome);
  if (onBatch !== null) check("onBatch", aFunction, onBatch);
  const { failpoint = () => {}, onTail = "wait", stuckAfterMs = STUCK_AFTER_MS } = options;
  check("onTail", oneOf("wait", "fail"), onTail);
  check("stuckAfterMs", aboveZero, stuckAfterMs);
  const { retentionMs = Number.POSITIVE_INFINITY, tombstoneRetentionMs = Number.POSITIVE_INFINITY } = options;
  check("retentionMs", aboveZero, retentionMs);
  check("tombstoneRetentionMs", aboveZero, tombstoneRetentionMs);
  const onError = options.onError ?? (options.clock === undefined ? null : () => {});
  if (onError !== null) check("onError", aFunction, onError);
  check("failpoint", aFunction, failpoint);
  check("owner", nonEmptyString, options.owner ?? "-");
  const owner = storedCode(options.owner ?? ulid(clock.now(), drawnFrom(random)));
  return Object.freeze({
    store: options.store,
    accounts: resolveAccounts(options.accounts, leaseMs),
    thresholds: resolveThresholds(options.thresholds),
    requestDefaults: resolveDefaults(options.requestDefaults),
    checkBodies,
    check: resolveCheck("", options.check, options.reask),
    leaseMs,
    retry: resolveRetry(options.retry),
    stuckAfterMs,
    retentionMs,
    tombstoneRetentionMs,
    onOutcome,
    onBatch,
    webhook: resolveWebhook(options.webhook),
    onTail,
    prices: resolvePrices(options.prices),
    maxPrice: resolveMaxPrice(options.maxPrice),
    onError,
    failpoint,
    owner,
    clock,
    isClockGiven: options.clock !== undefined,
    random: drawnFrom(random),
  });
}

/** The check of one job, or of `createDispatcher`; null for none. */
export function resolveCheck(
  job: string,
  run: OutputCheck | undefined,
  reask: boolean | undefined,
  jsonSchema: JsonObject | null = null,
): ResolvedCheck | null {
  if (run !== undefined) check("check", aFunction, run);
  if (reask !== undefined) check("reask", aBoolean, reask);
  if (run !== undefined) return { mark: checkMark(job), run, reask: reask ?? false, jsonSchema };
  if (reask) throw invalidOption(TypeError, "Expected a `check` with `reask`, got none");
  return null;
}

function resolveThresholds(given: Partial<Thresholds> | undefined): Thresholds {
  checkIsObject("thresholds", given);
  const thresholds = fill(THRESHOLDS, given, "thresholds.");
  check("thresholds.maxRequests", unboundedIntegerFrom(1), thresholds.maxRequests);
  check("thresholds.maxBytes", unboundedIntegerFrom(1), thresholds.maxBytes);
  check("thresholds.maxTokens", unboundedIntegerFrom(1), thresholds.maxTokens);
  check("thresholds.maxAgeMs", zeroOrMore, thresholds.maxAgeMs);
  return thresholds;
}

function resolveRetry(given: RetryOptions | undefined): Required<RetryOptions> {
  checkIsObject("retry", given);
  const retry = fill(RETRY, given, "retry.");
  check("retry.attempts", finiteIntegerFrom(1), retry.attempts);
  check("retry.backoffMs", zeroOrMore, retry.backoffMs);
  check("retry.maxBackoffMs", zeroOrMore, retry.maxBackoffMs);
  return retry;
}

/** `given` over the defaults. A field given as undefined counts as absent. */
function fill<T extends object>(defaults: T, given: object | undefined, prefix: string): T {
  refuseUnknown(given ?? {}, Object.keys(defaults), prefix);
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...defaults, ...Object.fromEntries(set) });
}

function resolveDefaults(given: JsonObject | undefined): JsonObject {
  checkIsObject("requestDefaults", given);
  return Object.freeze({ ...given });
}

function resolveWebhook(given: WebhookOptions | undefined): Required<WebhookOptions> | null {
  checkIsObject("webhook", given);
  if (given === undefined) return null;
  refuseUnknown(given, ["url", "secret", "fetch"], "webhook.");
  checkAddress("webhook.url", given.url, "the signature shows that a post is yours");
  check("webhook.secret", nonEmptyString, given.secret);
  const send = given.fetch ?? globalThis.fetch;
  check("webhook.fetch", aFunction, send);
  return Object.freeze({ url: given.url, secret: given.secret, fetch: send });
}

/** Keys that are made of anything else than numbers in [0, 1) would not differ. */
function drawnFrom(random: () => unknown): () => number {
  return () => {
    const drawn = random();
    if (typeof drawn === "number" && drawn >= 0 && drawn < 1) return drawn;
    ignoreIfPromise(drawn);
    return Math.random();
  };
}

/**
 * Random numbers from the platform's secure source, drawn in bulk: keys and ids must not collide
 * with those of another process.
 */
function goodChance(): () => number {
  const pool = new Uint32Array(1_024);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      crypto.getRandomValues(pool);
      next = 0;
    }
    const drawn = pool[next] as number;
    next += 1;
    return drawn / 2 ** 32;
  };
}
