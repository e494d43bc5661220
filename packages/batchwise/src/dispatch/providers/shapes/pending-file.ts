// Detects a create that failed because the provider has not processed the file yet. Pure.

import type { Failure } from "../../contract/failures.ts";
import type { SdkError } from "./sdk/sdk-error.ts";

/** Messages of Azure, Voyage and Google. A 404 may mean a file that is not visible yet. */
const PENDING =
  /file (?:\S+ )?(?:is|was|has) (?:still |not |being |been |yet )*(?:ready|processed|processing|pending)|input file not found|not in an ACTIVE state/i;
const REFUSED: readonly number[] = [400, 404, 409, 412, 422, 425];

/** The failure of such a create; null for any other error. */
export function pendingFile({ status, code, message }: SdkError): Failure | null {
  return status !== null && REFUSED.includes(status) ? pendingIn(code, message) : null;
}

/** The same for the message of a batch that failed as a whole. */
export function pendingIn(code: string | null, message: string): Failure | null {
  if (!PENDING.test(message)) return null;
  return { kind: "definitelyNotCreated", code: code ?? "file_not_ready", message, filePending: true };
}
