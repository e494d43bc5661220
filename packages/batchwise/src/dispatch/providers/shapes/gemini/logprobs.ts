// Converts Gemini's LogprobsResult to `logprobs` of a choice in OpenAI's format. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { jsonObject, objectOf } from "../sdk/sdk-error.ts";

export function toLogprobs(result: Json | undefined): JsonObject | null {
  const { chosenCandidates, topCandidates } = objectOf(result);
  if (!Array.isArray(chosenCandidates)) return null;
  const tops: readonly unknown[] = Array.isArray(topCandidates) ? topCandidates : [];
  const content = chosenCandidates.map((chosen, step) => {
    const { candidates } = objectOf(tops[step]);
    const others: readonly unknown[] = Array.isArray(candidates) ? candidates : [];
    return { ...toToken(chosen), top_logprobs: others.map(toToken) };
  });
  return { content, refusal: null };
}

function toToken(value: unknown): JsonObject {
  const { token, logProbability } = jsonObject(value) ?? {};
  const words = typeof token === "string" ? token : "";
  // Protocol buffer JSON omits zero.
  return { token: words, logprob: logProbability ?? 0, bytes: [...new TextEncoder().encode(words)] };
}
