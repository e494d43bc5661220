// Account problems that this process knows from failed calls. Reports each one once until the
// account works again, and keeps which keys are refused. Holds nothing that other processes need.

import {
  type AccountTrouble,
  disproofOf,
  type KeyRefusal,
  keyRefusalOf,
  type Success,
  troubleError,
  troubleOf,
} from "../accounts/account-trouble.ts";
import type { ErrorContext } from "../contract/dispatcher-options.ts";
import { DispatchError } from "../contract/errors.ts";
import type { Failure, Operation } from "../contract/failures.ts";
import type { LedgerChanges, LedgerRow } from "../contract/store/ledger-rows.ts";
import { isMistake } from "../format/client-error.ts";
import type { Secrets } from "../format/secrets.ts";

type Report = (error: unknown, context: ErrorContext) => void;

/**
 * Calls whose failure pauses the account in the store. accounts/tell-of-pause.ts reports the pause
 * and its end.
 */
const PAUSING: ReadonlySet<Operation> = new Set(["upload", "create", "execute"]);

/**
 * A reached limit counts as reported for this long, in ms: capacity for one batch does not end it.
 */
const FULL_AGAIN_MS = 24 * 3_600_000;

/** A reported trouble. */
interface Reported {
  readonly at: number;
  /** The successes still needed to end it. null among them never comes. */
  readonly until: Set<Success | null>;
}

/** A failed call. */
export interface FailedCall {
  readonly error: unknown;
  readonly failure: Failure;
  readonly context: ErrorContext & { readonly account: string; readonly operation: Operation };
}

type PauseEnd = LedgerChanges & { readonly ifBlockedUntil: number };

export class AccountTroubles {
  readonly #report: Report;
  readonly #now: () => number;
  readonly #secrets: Secrets;
  /**
   * Reported troubles of each account that have not ended; troubles of credit and keys by their
   * code.
   */
  readonly #reported: Map<string, Map<string, Reported>> = new Map();
  readonly #refusals: Map<string, KeyRefusal> = new Map();
  /** Until when, monotonic, other accounts are preferred to each of these. */
  readonly #avoided: Map<string, number> = new Map();
  /**
   * By account, the end of a pause that a check here has disproved. Until a lease's next write
   * carries that to the store, this process looks past the pause.
   */
  readonly #disproved: Map<string, number> = new Map();
  /** Called when a key is refused, or the requests of a lane, by this process or another. */
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

  /** Reports the error, unless the same trouble was reported and has not ended. */
  add({ error: told, failure, context }: FailedCall): void {
    const { account, operation } = context;
    const error = this.#secrets.error(told);
    // Errors of the store or of a line, and mistakes in code, are not about the account.
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
   * True if this trouble is unreported or has ended since; it then counts as reported. A pause ends
   * with the success that disproves it, for each kind of call that showed it.
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

  /** Other accounts are preferred to this one for so long, or until a call of it succeeds. */
  avoid(account: string, ms: number): void {
    this.#avoided.set(account, this.#now() + ms);
  }

  isAvoided(account: string): boolean {
    return (this.#avoided.get(account) ?? Number.NEGATIVE_INFINITY) > this.#now();
  }

  /**
   * The account works although its ledger is paused until `pausedUntil`: this process looks past
   * that pause, and not past a later one.
   */
  disprove(account: string, pausedUntil: number): void {
    this.#disproved.set(account, pausedUntil);
  }

  /** Ends the disproved pauses for all processes, each unless another one has been written. */
  get pauseEnds(): readonly PauseEnd[] {
    return [...this.#disproved].map(([name, ifBlockedUntil]) => ({
      name,
      ifBlockedUntil,
      blockedUntil: 0,
      note: null,
    }));
  }

  /** Call after a write of these ends: each pause has ended, or the store had another one. */
  endsWritten(ends: readonly PauseEnd[]): void {
    for (const { name, ifBlockedUntil } of ends) {
      if (this.#disproved.get(name) === ifBlockedUntil) this.#disproved.delete(name);
    }
  }

  /** The ledgers by name, without disproved pauses. */
  lookPast(ledgers: readonly LedgerRow[]): Map<string, LedgerRow> {
    const isPast = ({ name, blockedUntil }: LedgerRow): boolean => this.#disproved.get(name) === blockedUntil;
    return new Map(ledgers.map((row) => [row.name, isPast(row) ? { ...row, blockedUntil: 0 } : row]));
  }

  /** Call after a successful call of the account, which ends the troubles that it disproves. */
  worked(account: string, success: Success): void {
    this.#avoided.delete(account);
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
