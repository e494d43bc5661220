// Reads the maximum output that a request's body allows. Pure.

import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { inputsOf } from "../../format/inputs.ts";

/** Endpoints without output tokens. */
const SILENT: readonly Endpoint[] = ["/v1/embeddings", "/v1/moderations"];

/** In tokens; null if the body sets no limit. 0 for embeddings and moderations. */
export function mostOutputOf(endpoint: Endpoint, body: JsonObject): number | null {
  if (SILENT.includes(endpoint)) return 0;
  const most = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens;
  const answers = body.n ?? 1;
  if (typeof most !== "number" || typeof answers !== "number") return null;
  // A completion answers each prompt of a list.
  return most * answers * (endpoint === "/v1/completions" ? inputsOf(body.prompt) : 1);
}
