// Tells the user that an account is paused because of what its provider said of it: money, a key, a
// right, an address. Requests wait meanwhile, uncharged, and nothing else would show why. Each
// process tells it once, until it is over.

import { DispatchError } from "../contract/errors.ts";
import type { OutcomeError } from "../contract/types.ts";
import type { Success } from "../decide/account-trouble.ts";
import type { ErrorContext } from "../options/dispatcher-options.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** `disproof`: the success that shows that its cause is over. */
export function tellOfPause(
  runtime: Runtime,
  { code, message }: OutcomeError,
  until: number,
  disproof: Success,
  context: Required<ErrorContext>,
): void {
  if (!runtime.troubles.isNew(context.account, "ACCOUNT_PAUSED", code, disproof)) return;
  const account = `The account "${context.account}" is paused until ${new Date(until).toISOString()}`;
  const words = `${account}, because its provider says "${code}: ${message}". Its requests wait, until that ends.`;
  runtime.report(new DispatchError("ACCOUNT_PAUSED", words), context);
}
