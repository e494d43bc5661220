// Whether a batch's lines travel in its create or in a file that is uploaded first. Pure. It is
// chosen with the first intent and stands in `providerFileId`, where no file's id stands yet: every
// later attempt does the same, whatever the account's `maxInlineBytes` is by then. So the state of
// a batch whose process died says whether a create may have been sent.

import type { Account } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/rows.ts";

/** Stand for an id. No provider's file has a space in its id. */
const IN_CREATE = "in the create";
const TO_UPLOAD = "to be uploaded";

type Filed = Pick<BatchRow, "bytes" | "providerFileId">;
type Inlining = { readonly capabilities: Pick<Account["capabilities"], "maxInlineBytes"> };

/** True where the lines travel in the create. */
export function goesInline({ bytes, providerFileId }: Filed, { capabilities }: Inlining): boolean {
  return providerFileId === null ? bytes <= capabilities.maxInlineBytes : providerFileId === IN_CREATE;
}

/** The id of the uploaded file; null where there is none, or none yet. */
export function fileIdOf({ providerFileId }: Pick<BatchRow, "providerFileId">): string | null {
  return providerFileId === IN_CREATE || providerFileId === TO_UPLOAD ? null : providerFileId;
}

/**
 * What an intent writes as the file's id. `filesOnly`: results of what travels in creates have come
 * without names.
 */
export function chosenInput(batch: Filed, account: Inlining, filesOnly: boolean): string {
  return batch.providerFileId ?? (!filesOnly && goesInline(batch, account) ? IN_CREATE : TO_UPLOAD);
}

/** What is written as the file's id where the next attempt is to upload anew, if this one did. */
export function withoutFile({ providerFileId }: Pick<BatchRow, "providerFileId">): string | null {
  return providerFileId === null || providerFileId === IN_CREATE ? providerFileId : TO_UPLOAD;
}
