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
import { type OptionTable, type ReadOptions, readOnly, readOptions } from "../format/option-table.ts";
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

const PLAIN = {
  checkBodies: [aBoolean, true],
  leaseMs: [finiteIntegerFrom(1_000), 90_000],
  stuckAfterMs: [aboveZero, STUCK_AFTER_MS],
  retentionMs: [aboveZero, Number.POSITIVE_INFINITY],
  tombstoneRetentionMs: [aboveZero, Number.POSITIVE_INFINITY],
  onOutcome: [aFunction, null],
  onBatch: [aFunction, null],
  onTail: [oneOf("wait", "fail"), "wait"],
  onError: [aFunction, null],
  failpoint: [aFunction, () => {}],
  random: [aFunction],
  owner: [nonEmptyString, null],
} satisfies OptionTable<DispatcherOptions>;

const OTHERS = [
  ...(["store", "accounts", "thresholds", "requestDefaults", "check", "reask", "retry", "webhook"] as const),
  ...(["prices", "maxPrice", "clock"] as const),
] satisfies readonly (keyof DispatcherOptions)[];

export const DISPATCHER_OPTIONS: readonly string[] = [...OTHERS, ...Object.keys(PLAIN)];

const THRESHOLDS = {
  maxRequests: [unboundedIntegerFrom(1), 50_000],
  maxBytes: [unboundedIntegerFrom(1), 200_000_000],
  maxTokens: [unboundedIntegerFrom(1), Number.POSITIVE_INFINITY],
  maxAgeMs: [zeroOrMore, 7_200_000],
} satisfies OptionTable<Thresholds>;

const RETRY = {
  attempts: [finiteIntegerFrom(1), 3],
  backoffMs: [zeroOrMore, 30_000],
  maxBackoffMs: [zeroOrMore, 3_600_000],
} satisfies OptionTable<RetryOptions>;

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
  const { random: chance, owner, onError, ...plain } = readOptions(options, PLAIN);
  const clock = resolveClock(options.clock ?? wallClock);
  const random = drawnFrom(chance ?? goodChance());
  return Object.freeze({
    ...plain,
    store: options.store,
    accounts: resolveAccounts(options.accounts, plain.leaseMs),
    thresholds: readGroup("thresholds", options.thresholds, THRESHOLDS),
    requestDefaults: resolveDefaults(options.requestDefaults),
    check: resolveCheck("", options.check, options.reask),
    retry: readGroup("retry", options.retry, RETRY),
    webhook: resolveWebhook(options.webhook),
    prices: resolvePrices(options.prices),
    maxPrice: resolveMaxPrice(options.maxPrice),
    onError: onError ?? (options.clock === undefined ? null : () => {}),
    owner: storedCode(owner ?? ulid(clock.now(), random)),
    clock,
    isClockGiven: options.clock !== undefined,
    random,
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

/** The option of this name, an object whose options are all in the table. */
function readGroup<Given extends object, const Table extends OptionTable<Given>>(
  name: string,
  given: Given | undefined,
  table: Table,
): ReadOptions<Given, Table> {
  checkIsObject(name, given);
  return Object.freeze(readOnly(given ?? ({} as Given), table, `${name}.`));
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
 * with another process's.
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
