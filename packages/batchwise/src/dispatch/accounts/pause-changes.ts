// The pauses that a ledger's row keeps, as changes for `transition`. Several processes pause an
// account at once, for different reasons, and the row has one end and one reason. So an answer
// that refuses the account itself replaces the reason of any other pause, and an outage, and ends
// no pause earlier; every other pause is written only where nothing has paused the account since
// its row was read. Pure.

import type { LedgerChanges } from "../contract/store/ledger-rows.ts";
import { type Outage, outageText } from "./outage.ts";

/** The provider refuses the account: its key, its money, a permission, its address. */
export function closedByAnswer(name: string, until: number, code: string | null): LedgerChanges {
  // Strikes would show it as the pause of a limit, which the next batch that runs ends.
  // An outage would show it as its own pause: the first batches after it find one that goes on.
  return { name, blockedAtLeast: until, strikes: 0, note: code, outage: null };
}

// `ifBlockedUntil` below: of the row as it was read.

/** Any other pause of an account. Empty if a present pause ends later. */
export function pausedFor(name: string, ifBlockedUntil: number, until: number, note: string | null): LedgerChanges[] {
  return ifBlockedUntil >= until ? [] : [{ name, ifBlockedUntil, blockedUntil: until, note }];
}

export function outageChange(name: string, ifBlockedUntil: number, outage: Outage): LedgerChanges {
  return { name, ifBlockedUntil, outage: outageText(outage) };
}
