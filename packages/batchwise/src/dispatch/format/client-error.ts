// Reads what an error of any official client says: its HTTP status, and its words with those of its causes. Pure.

const LONGEST_CHAIN = 8;

/** Code of a call that the platform refused to make, because a header of it has a character that none may have. */
export const BAD_HEADER = "invalid_header";

/** Official clients put the HTTP status of an answer at different places. null for a call that got no answer. */
export function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { status, statusCode, code, $metadata } = error as Answered;
  const given = [status, statusCode, $metadata?.httpStatusCode, code].find((value) => typeof value === "number");
  return typeof given === "number" ? given : null;
}

interface Answered {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown } | null;
}

/** The error's message, and those of its causes that say more: "Connection error: fetch failed: connect ECONNREFUSED". */
export function wordsOf(error: unknown): string {
  const words: string[] = [];
  let at = error;
  for (let depth = 0; depth < LONGEST_CHAIN && (depth === 0 || at instanceof Error); depth += 1) {
    const message = messageOf(at);
    if (!words.some((known) => known.includes(message))) words.push(message.replace(/[.:]$/, ""));
    at = at instanceof Error ? at.cause : null;
  }
  return words.join(": ");
}

/** An AggregateError of several addresses has a code and no message. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : error.name;
}
