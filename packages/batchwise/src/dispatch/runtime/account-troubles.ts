// What this process has learned about its accounts from calls that failed. Reports each trouble
// once, until the account works again, and keeps which keys are refused. Keeps nothing that matters
// to other processes.

import type { Failure, Operation } from "../contract/account.ts";
import { DispatchError } from "../contract/errors.ts";
import {
  type AccountTrouble,
  disproofOf,
  type KeyRefusal,
  keyRefusalOf,
  type Success,
  troubleError,
  troubleOf,
} from "../decide/account-trouble.ts";
import { isMistake } from "../format/client-error.ts";
import type { Secrets } from "../format/secrets.ts";
import type { ErrorContext } from "../options/dispatcher-options.ts";

type Report = (error: unknown, context: ErrorContext) => void;

/**
 * Calls after which the account is paused in the store: steps/tell-of-pause.ts reports that, with
 * its end.
 */
const PAUSING: ReadonlySet<Operation> = new Set(["upload", "create", "execute"]);

/**
 * A limit that is used up stays so for as long as there is work: room for one batch does not end
 * it.
 */
const FULL_AGAIN_MS = 24 * 3_600_000;

/** A trouble that was reported. */
interface Reported {
  readonly at: number;
  /** The successes that it still takes until it is over; null among them never comes. */
  readonly until: Set<Success | null>;
}

/** A call that failed. */
export interface FailedCall {
  readonly error: unknown;
  readonly failure: Failure;
  readonly context: ErrorContext & { readonly account: string; readonly operation: Operation };
}

export class AccountTroubles {
  readonly #report: Report;
  readonly #now: () => number;
  readonly #secrets: Secrets;
  /**
   * The troubles of each account that were reported and are not over; those of money and keys by
   * their code.
   */
  readonly #reported: Map<string, Map<string, Reported>> = new Map();
  readonly #refusals: Map<string, KeyRefusal> = new Map();
  readonly #words: Set<string> = new Set();
  /** Called when a key is refused. */
  onRefusal: () => void = () => {};

  /** `now`: monotonic. */
  constructor(report: Report, now: () => number, secrets: Secrets) {
    this.#report = report;
    this.#now = now;
    this.#secrets = secrets;
  }

  /** Accounts whose key was refused at the last call that shows it. */
  get refusals(): ReadonlyMap<string, KeyRefusal> {
    return this.#refusals;
  }

  /**
   * Reports the error, unless the same trouble of the account was reported and has lasted since.
   */
  add({ error: told, failure, context }: FailedCall): void {
    const { account, operation } = context;
    const error = this.#secrets.error(told);
    // An error of the store, or of a line, is not about the account, nor is a mistake in code.
    const trouble = error instanceof DispatchError || isMistake(error) ? null : troubleOf(failure);
    if (trouble === null) {
      this.#report(error, context);
      return;
    }
    const refusal = keyRefusalOf(failure, error, operation);
    if (refusal !== null) this.#refusals.set(account, refusal);
    const isToldLater = trouble === "ACCOUNT_PAUSED" && PAUSING.has(operation);
    if (!isToldLater && this.isNew(account, trouble, failure.code, disproofOf(operation, error))) {
      this.#report(troubleError(trouble, account, failure, error, operation), context);
    }
    if (refusal !== null) this.onRefusal();
  }

  /**
   * True where this trouble has not been reported, or is over since; it counts as reported from now
   * on. A pause is over with the success that disproves it, of each kind of call that showed it.
   */
  isNew(account: string, trouble: AccountTrouble, code: string, disproof: Success | null): boolean {
    const reported = this.#reported.get(account) ?? new Map<string, Reported>();
    this.#reported.set(account, reported);
    const name = trouble === "ACCOUNT_PAUSED" ? `${trouble} ${code}` : trouble;
    const known = reported.get(name);
    known?.until.add(disproof);
    if (known !== undefined && (trouble !== "ACCOUNT_FULL" || known.at + FULL_AGAIN_MS > this.#now())) return false;
    reported.set(name, { at: this.#now(), until: new Set([disproof]) });
    return true;
  }

  /** True once for each sentence. */
  isNewWord(words: string): boolean {
    if (this.#words.has(words)) return false;
    this.#words.add(words);
    return true;
  }

  /** A call of the account succeeded, which ends the troubles that it disproves. */
  worked(account: string, success: Success): void {
    const reported = this.#reported.get(account);
    reported?.delete("ACCOUNT_UNAVAILABLE");
    const isOver = success === "create" || success === "execute";
    const isReadOver = success === "read" && this.#refusals.get(account)?.blocksReads === true;
    if (isOver || isReadOver) this.#refusals.delete(account);
    for (const [name, { until }] of reported ?? []) {
      if (!name.startsWith("ACCOUNT_PAUSED")) continue;
      until.delete(success);
      // An account that runs lines itself has no other call.
      if (until.size === 0 || success === "execute") reported?.delete(name);
    }
  }
}
