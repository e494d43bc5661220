// What this process has learned about its accounts from calls that failed. Reports each trouble once, until the account works
// again, and keeps which keys are refused. Keeps nothing that matters to other processes.

import type { Failure, Operation } from "../contract/account.ts";
import { DispatchError } from "../contract/errors.ts";
import {
  type AccountTrouble,
  type KeyRefusal,
  keyRefusalOf,
  troubleError,
  troubleOf,
} from "../decide/account-trouble.ts";
import type { ErrorContext } from "../options/dispatcher-options.ts";

type Report = (error: unknown, context: ErrorContext) => void;

/** `read`: an answer about a batch. */
export type Success = "upload" | "create" | "execute" | "read";

/** Calls after which the account is paused in the store: steps/tell-of-pause.ts reports that, with its end. */
const PAUSING: ReadonlySet<Operation> = new Set(["upload", "create", "execute"]);

/** A limit that is used up stays so for as long as there is work: room for one batch does not end it. */
const FULL_AGAIN_MS = 24 * 3_600_000;

/** A call that failed. */
export interface FailedCall {
  readonly error: unknown;
  readonly failure: Failure;
  readonly context: ErrorContext & { readonly account: string; readonly operation: Operation };
}

export class AccountTroubles {
  readonly #report: Report;
  readonly #now: () => number;
  /** When each trouble of an account was reported; those of money and keys by their code. */
  readonly #reported: Map<string, Map<string, number>> = new Map();
  readonly #refusals: Map<string, KeyRefusal> = new Map();
  /** Called when a key is refused. */
  onRefusal: () => void = () => {};

  /** `now`: monotonic. */
  constructor(report: Report, now: () => number) {
    this.#report = report;
    this.#now = now;
  }

  /** Accounts whose key was refused at the last call that shows it. */
  get refusals(): ReadonlyMap<string, KeyRefusal> {
    return this.#refusals;
  }

  /** Reports the error, unless the same trouble of the account was reported and has lasted since. */
  add({ error, failure, context }: FailedCall): void {
    const { account, operation } = context;
    // An error of the store, or of a line, is not about the account.
    const trouble = error instanceof DispatchError ? null : troubleOf(failure);
    if (trouble === null) {
      this.#report(error, context);
      return;
    }
    const refusal = keyRefusalOf(failure, error, operation);
    if (refusal !== null) this.#refusals.set(account, refusal);
    const isToldLater = trouble === "ACCOUNT_PAUSED" && PAUSING.has(operation);
    if (!isToldLater && this.isNew(account, trouble, failure.code)) {
      this.#report(troubleError(trouble, account, failure, error), context);
    }
    if (refusal !== null) this.onRefusal();
  }

  /** True where this trouble has not been reported since the account last worked; it counts as reported from now on. */
  isNew(account: string, trouble: AccountTrouble, code: string): boolean {
    const reported = this.#reported.get(account) ?? new Map<string, number>();
    this.#reported.set(account, reported);
    const name = trouble === "ACCOUNT_PAUSED" ? `${trouble} ${code}` : trouble;
    const at = reported.get(name);
    const isKnown = at !== undefined && (trouble !== "ACCOUNT_FULL" || at + FULL_AGAIN_MS > this.#now());
    if (!isKnown) reported.set(name, this.#now());
    return !isKnown;
  }

  /** A call of the account succeeded, which ends the troubles that it disproves. */
  worked(account: string, success: Success): void {
    const reported = this.#reported.get(account);
    reported?.delete("ACCOUNT_UNAVAILABLE");
    const isOver = success === "create" || success === "execute";
    const isReadOver = success === "read" && this.#refusals.get(account)?.blocksReads === true;
    if (!isOver && !isReadOver) return;
    for (const name of reported?.keys() ?? []) if (name.startsWith("ACCOUNT_PAUSED")) reported?.delete(name);
    this.#refusals.delete(account);
  }
}
