// Answers of an account's synchronous functions. A promise in their place is a mistake in the
// account: it is refused by name, and its rejection is not left unhandled. Pure.

import { describe } from "../../core/contract/errors.ts";
import { ignoreFailure, isThenable } from "../../core/contract/thenable.ts";
import type { Account } from "../contract/account.ts";

type Sync =
  | "encodeLine"
  | "lineBytes"
  | "checkBody"
  | "groupOf"
  | "cachedPrefix"
  | "isNamedByPlace"
  | "jsonSchemasOf"
  | "classify";

/** The answer itself. @throws TypeError for a promise, which names the function and the account. */
export function atOnce<Answer>({ name }: Account, called: Sync, answer: Answer): Answer {
  if (!isThenable(answer)) return answer;
  ignoreFailure(answer);
  throw new TypeError(`Expected \`${called}\` of account \`${name}\` to answer at once, got a promise`);
}

/** The bytes of a line. @throws TypeError for a value that is not a count. */
export function countOf({ name }: Account, bytes: number): number {
  if (typeof bytes === "number" && bytes >= 0) return bytes;
  throw new TypeError(`Expected \`lineBytes\` of account \`${name}\` to return bytes, got ${describe(bytes)}`);
}
