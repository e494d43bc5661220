// The most that a request lets a model write, as its body says it. Pure.

import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { inputsOf } from "../../format/inputs.ts";

/** Endpoints whose models write nothing that is counted in tokens. */
const SILENT: readonly Endpoint[] = ["/v1/embeddings", "/v1/moderations"];

/** In tokens; null where the body sets no limit. Embeddings and moderations write none. */
export function mostOutputOf(endpoint: Endpoint, body: JsonObject): number | null {
  if (SILENT.includes(endpoint)) return 0;
  const most = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens;
  const answers = body.n ?? 1;
  if (typeof most !== "number" || typeof answers !== "number") return null;
  // A completion answers each of a list of prompts.
  return most * answers * (endpoint === "/v1/completions" ? inputsOf(body.prompt) : 1);
}
