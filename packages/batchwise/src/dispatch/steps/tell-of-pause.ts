// Tells the user that an account is paused because of what its provider said of it: money, a key, a right, an address.
// Requests wait meanwhile, uncharged, and nothing else would show why.

import { DispatchError } from "../contract/errors.ts";
import type { OutcomeError } from "../contract/types.ts";
import type { ErrorContext } from "../options/dispatcher-options.ts";
import type { Runtime } from "../runtime/runtime.ts";

export function tellOfPause(
  runtime: Runtime,
  account: string,
  { code, message }: OutcomeError,
  until: number,
  context: ErrorContext,
): void {
  const told = `The account "${account}" is paused until ${new Date(until).toISOString()}, because its provider says`;
  runtime.report(new DispatchError("ACCOUNT_PAUSED", `${told} "${code}: ${message}". Its requests wait.`), context);
}
