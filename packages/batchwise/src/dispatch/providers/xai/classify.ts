// Classifies the reason for which xAI cancelled a batch. It is a text, as in "JSONL file validation
// failed: Model grok-4.5 is not supported for batch processing.", and names no line. Errors of
// calls are classified as at OpenAI. Pure.

import type { Failure } from "../../contract/failures.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";

const OF_THE_FILE = /validation failed|invalid|not supported|malformed|duplicate/i;
/** All requests of a batch have one model, so the first is to blame like all others. */
const OF_THE_MODEL = /model\b.{0,100}\b(?:not supported|not found|does not exist)/is;

export function toFailure(reason: string): Failure {
  const message = reason === "" ? "The provider gave no reason." : reason;
  if (isAccountTrouble(null, message)) return { kind: "authOrBilling", code: "batch_cancelled_by_xai", message };
  if (OF_THE_MODEL.test(message)) {
    const code = "model_not_found";
    return { kind: "invalidRequest", code, message, lines: [{ line: 1, code, message }] };
  }
  if (!OF_THE_FILE.test(message)) return { kind: "unknown", code: "batch_cancelled_by_xai", message };
  return { kind: "invalidRequest", code: "invalid_file", message, lines: [] };
}
