// xAI's capabilities: docs.x.ai/docs/guides/batch-api and docs.x.ai/docs/guides/files. Limits are
// the documented ones.

import type { Capabilities } from "../../contract/capabilities.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

/**
 * Lines of /v1/responses, images and videos are left out: what their results look like is not
 * documented, and clients that were run there disagree.
 */
export const xaiCapabilities: Capabilities = {
  provider: "xai",
  endpoints: ["/v1/chat/completions"],
  maxInlineBytes: 0,
  /** The batch's name. */
  tag: "metadata",
  /** No order of lists is documented, and batches have days instead of times. */
  list: { paged: true, pageSize: 100, newestFirst: false },
  listsFiles: true,
  ledgerScope: "account",
  /** docs.x.ai/docs/guides/structured-outputs: no bounds of texts and arrays, no `allOf`. */
  jsonSchemas: "strict",
  limits: {
    ...UNLIMITED,
    /** Larger ones "may be throttled for processing stability". */
    maxRequests: 100_000,
    /** Limit of one file, of any kind. */
    maxBytes: 48_000_000,
    /** "1 batch creation per second per team". */
    maxCreatesPerHour: 3_600,
  },
};
