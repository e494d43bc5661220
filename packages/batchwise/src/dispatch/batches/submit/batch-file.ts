// Decides whether a batch's lines travel in its create or in a file that is uploaded first. Pure.
// The first intent decides, and every later attempt does the same, even if the account's
// `maxInlineBytes` has changed. So the row of a batch whose process died shows whether a create may
// have been sent.

import type { Account } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/store/rows.ts";

type Filed = Pick<BatchRow, "bytes" | "inline">;
type Inlining = { readonly capabilities: Pick<Account["capabilities"], "maxInlineBytes"> };

/** True where the lines travel in the create. */
export function goesInline({ bytes, inline }: Filed, { capabilities }: Inlining): boolean {
  return inline ?? bytes <= capabilities.maxInlineBytes;
}
