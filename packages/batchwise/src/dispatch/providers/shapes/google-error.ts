// What an error of a Google API says, thrown by one of Google's clients. Pure. Its message is the JSON of the answer:
// google.rpc.Status in HTTP's shape, with how long to wait among its details.

import type { JsonObject } from "../../contract/types.ts";
import { jsonObject, objectOf, readSdkError, type SdkError, text } from "./sdk-error.ts";

const LONGEST_WAIT_MS = 3_600_000;

export function readGoogleError(error: unknown): SdkError {
  const read = readSdkError(error);
  const told = statusIn(read.message);
  if (told === null) return read;
  return {
    ...read,
    code: text(told.status) ?? read.code,
    message: text(told.message) ?? read.message,
    retryAfterMs: read.retryAfterMs ?? waitOf(told),
  };
}

function statusIn(message: string): JsonObject | null {
  if (!message.startsWith("{")) return null;
  try {
    return jsonObject(objectOf(JSON.parse(message)).error);
  } catch {
    return null;
  }
}

/** Out of google.rpc.RetryInfo: a number of seconds, as in "30s" or "1.5s". An hour at most. */
function waitOf({ details }: JsonObject): number | null {
  for (const detail of Array.isArray(details) ? details : []) {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(text(objectOf(detail).retryDelay) ?? "") ?? [];
    if (seconds !== undefined) return Math.min(LONGEST_WAIT_MS, Number(seconds) * 1000);
  }
  return null;
}
