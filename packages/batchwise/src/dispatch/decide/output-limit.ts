// The most that a request lets a model write, as its body says it. Pure.

import type { Endpoint, JsonObject } from "../contract/types.ts";

/** In tokens; null where the body sets no limit. Embeddings write none. */
export function mostOutputOf(endpoint: Endpoint, body: JsonObject): number | null {
  if (endpoint === "/v1/embeddings") return 0;
  const most = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens;
  const answers = body.n ?? 1;
  return typeof most === "number" && typeof answers === "number" ? most * answers : null;
}
