// The pauses that a ledger's row keeps, as changes for `transition`. Several processes pause an
// account at once, for different reasons, and the row has one end and one reason. So an answer
// that refuses the account itself replaces the reason of any other pause, and an outage, and ends
// no pause earlier; every other change is written only where nothing has paused the account since
// its row was read. Pure.

import type { LedgerChanges, LedgerRow } from "../contract/store/ledger-rows.ts";
import { type Outage, outageText } from "./outage.ts";

/** The provider refuses the account: its key, its money, a permission, its address. */
export function closedByAnswer(name: string, until: number, code: string | null): LedgerChanges {
  // Strikes would show it as the pause of a limit, which the next batch that runs ends.
  // An outage would show it as its own pause: the first batches after it find one that goes on.
  return { name, blockedAtLeast: until, strikes: 0, note: code, outage: null };
}

/** The ledgers by name, as they were read for a decision. */
export type Ledgers = ReadonlyMap<string, LedgerRow>;

/** The ledger, where it still has the pause that it had in `ledgers`. */
export function asIn(ledgers: Ledgers, name: string): Required<Pick<LedgerChanges, "name" | "ifBlockedUntil">> {
  return { name, ifBlockedUntil: ledgers.get(name)?.blockedUntil ?? 0 };
}

/** Any other pause of an account. Empty if a present pause ends later. */
export function pausedFor(ledgers: Ledgers, name: string, until: number, note: string | null): LedgerChanges[] {
  const ledger = asIn(ledgers, name);
  return ledger.ifBlockedUntil >= until ? [] : [{ ...ledger, blockedUntil: until, note }];
}

export function outageChange(ledgers: Ledgers, name: string, outage: Outage): LedgerChanges {
  return { ...asIn(ledgers, name), outage: outageText(outage) };
}
