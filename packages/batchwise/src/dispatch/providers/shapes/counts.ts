// Reads counts and times in answers of providers, and builds OpenAI's usage for providers that
// count cached input separately. Pure.

import type { ProviderBatch } from "../../contract/account.ts";
import type { JsonObject } from "../../contract/types.ts";

/** The count; null if `value` is not one. */
export function countOrNull(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

/** The count; 0 if `value` is not one. */
export function count(value: unknown): number {
  return countOrNull(value) ?? 0;
}

/** A time in ms: of seconds, of a text, or of a Date, in any realm; null if `value` is none. */
export function timeOf(value: unknown): number | null {
  if (typeof value === "number") return value * 1000;
  const isTime = typeof value === "string" || Object.prototype.toString.call(value) === "[object Date]";
  const time = isTime ? new Date(value as string | Date).getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/**
 * A batch's counts; null while it has none. `settled`: requests that have ended, if these are not
 * all of them.
 */
export function figuresOf(
  total: number | null,
  succeeded: number,
  failed: number,
  settled: number = succeeded + failed,
): Required<Pick<ProviderBatch, "total" | "settled" | "ran" | "counts">> {
  if (total === null || total === 0) return { total: null, settled: null, ran: null, counts: null };
  return { total, settled, ran: succeeded + failed, counts: { total, succeeded, failed } };
}

/** Tokens: `read` from a prompt cache and `written` to it are not among `input`. */
interface CountsApart {
  readonly input: unknown;
  readonly output: unknown;
  readonly read: unknown;
  readonly written: unknown;
}

/** As OpenAI counts: `prompt_tokens` include cached input. */
export function usageTogether({ input, output, ...cache }: CountsApart): JsonObject {
  const [read, written] = [count(cache.read), count(cache.written)];
  const prompt = count(input) + read + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: count(output),
    total_tokens: prompt + count(output),
    prompt_tokens_details: { cached_tokens: read, cache_creation_tokens: written },
  };
}
