// Reports that an account is paused because of its provider's answer: credit, a key, a permission,
// an address. Its requests wait uncharged, and nothing else would show the reason. Each process
// reports it once until it ends.

import type { ErrorContext } from "../contract/dispatcher-options.ts";
import { DispatchError } from "../contract/errors.ts";
import type { OutcomeError } from "../contract/types.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Success } from "./account-trouble.ts";

/**
 * `until`: a pause that ends later stays. `disproof`: the success that shows the end of its cause.
 */
export function tellOfPause(
  runtime: Runtime,
  { code, message }: OutcomeError,
  until: number,
  disproof: Success,
  context: Required<ErrorContext>,
): void {
  if (!runtime.troubles.isNew(context.account, "ACCOUNT_PAUSED", code, disproof)) return;
  const account = `The account "${context.account}" is paused at least until ${new Date(until).toISOString()}`;
  const words = `${account}, because its provider says "${code}: ${message}". Its requests wait, until that ends.`;
  runtime.report(new DispatchError("ACCOUNT_PAUSED", words), context);
}
