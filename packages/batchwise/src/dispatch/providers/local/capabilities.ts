// Capabilities of an account that runs lines itself. The limits are ours: no provider sets any.

import type { Capabilities } from "../../contract/capabilities.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

export const localCapabilities: Capabilities = {
  provider: "local",
  endpoints: ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"],
  maxInlineBytes: Number.POSITIVE_INFINITY,
  tag: "idempotencyToken",
  list: { paged: false, pageSize: 100, newestFirst: false },
  listsFiles: false,
  ledgerScope: "account",
  // Its lines run at once.
  completionWindowMs: 0,
  limits: {
    ...UNLIMITED,
    maxRequests: 10_000,
    maxBytes: 100_000_000,
    // Few, because requests outside of a batch can still be reordered by priority or deadline, or
    // go to another account.
    maxEnqueuedBatches: 4,
  },
};
