// Tells the user that an account is paused because of what its provider said of it: money, a key, a right, an address.
// Requests wait meanwhile, uncharged, and nothing else would show why. Told once for as long as the cause stays the same.

import { DispatchError } from "../contract/errors.ts";
import type { LedgerRow } from "../contract/rows.ts";
import type { OutcomeError } from "../contract/types.ts";
import { PAUSE_MS } from "../decide/after/failure.ts";
import type { ErrorContext } from "../options/dispatcher-options.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** `before`: the account's ledger as it was before the pause. */
export function tellOfPause(
  runtime: Runtime,
  { code, message }: OutcomeError,
  until: number,
  before: LedgerRow | undefined,
  context: Required<ErrorContext>,
): void {
  const isSame = before?.note === code && before.blockedUntil + PAUSE_MS >= runtime.clock.now();
  if (isSame || !runtime.troubles.isNew(context.account, "ACCOUNT_PAUSED", code)) return;
  const account = `The account "${context.account}" is paused until ${new Date(until).toISOString()}`;
  const words = `${account}, because its provider says "${code}: ${message}". Its requests wait, until that ends.`;
  runtime.report(new DispatchError("ACCOUNT_PAUSED", words), context);
}
