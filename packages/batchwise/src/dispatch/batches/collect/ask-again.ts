// The turns with which a request goes again whose answer was refused, and the size of its line with
// them and without.

import { serves } from "../../accounts/rank-accounts.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { Appended, RequestRow } from "../../contract/store/rows.ts";
import type { JsonObject } from "../../contract/types.ts";
import { parseLane, SAMPLE_CUSTOM_ID, utf8Length } from "../../format/encode.ts";
import { lineLimits, longestLine } from "../../format/line-limits.ts";
import type { ResolvedOptions } from "../../options/resolve-options.ts";
import { tokensOf } from "../../requests/estimate/body-tokens.ts";
import { turnsAfter, withTurns } from "./answer-turns.ts";

/**
 * null: it goes again as it was. That is so for an empty answer, for an endpoint without turns, and
 * where an account that may get it cannot send the longer line.
 */
export function appendedTo(
  { accounts, thresholds }: Pick<ResolvedOptions, "accounts" | "thresholds">,
  row: Pick<RequestRow, "lane" | "body">,
  answer: JsonObject,
  why: string,
): Appended | null {
  const turns = turnsAfter(parseLane(row.lane).endpoint, answer, why);
  if (turns === null) return null;
  const { serving, bytes, tokens } = measured(accounts, row.lane, withTurns(row.body as string, turns));
  const { mostBytes, mostTokens } = lineLimits(thresholds, serving);
  return bytes === null || bytes > mostBytes || tokens > mostTokens ? null : { turns, bytes, tokens };
}

/** True if a failure would end a request that may have turns, while tries are left. */
export function mayKeep(
  { kind }: Settlement,
  { attempts, generation }: Pick<RequestRow, "attempts" | "generation">,
  { retry }: Pick<ResolvedOptions, "retry">,
): boolean {
  // Turns follow an answer, which was a try.
  const isFirst = attempts === 0 && generation === 0;
  return kind === "final" && !isFirst && attempts + 1 < retry.attempts;
}

/**
 * The failure; a request with turns goes again without them, because what ended it may be about
 * them.
 */
export function kept(
  failed: Settlement,
  row: Pick<RequestRow, "lane" | "body" | "bytes" | "turns" | "attempts" | "generation">,
  options: Pick<ResolvedOptions, "accounts" | "retry">,
  lane: string,
  now: number,
): Settlement {
  return row.turns !== null && mayKeep(failed, row, options) ? withoutTurns(options, row, failed, lane, now) : failed;
}

function withoutTurns(
  { accounts }: Pick<ResolvedOptions, "accounts">,
  row: Pick<RequestRow, "lane" | "body" | "bytes">,
  { ord, code }: Settlement,
  lane: string,
  now: number,
): Settlement {
  const { bytes, tokens } = measured(accounts, row.lane, row.body as string);
  const appended: Appended = { turns: null, bytes: bytes ?? row.bytes, tokens };
  return { ord, kind: "requeue", code: code ?? "", charged: true, notBefore: now, lane, appended };
}

/** `bytes`: length of the longest line; null if an account refuses the line. */
function measured(accounts: ResolvedOptions["accounts"], lane: string, body: string) {
  const { endpoint, model } = parseLane(lane);
  const bodyBytes = utf8Length(body);
  const tokens = tokensOf(JSON.parse(body) as JsonObject, bodyBytes === body.length);
  const serving = [...accounts.values()].filter((account) => serves(account, { endpoint, model }));
  const bytes = lengthOrNull(() => longestLine(serving, { customId: SAMPLE_CUSTOM_ID, endpoint, body }, bodyBytes));
  return { serving, bytes, tokens };
}

/** null for a line that an account refuses. */
function lengthOrNull(length: () => number): number | null {
  try {
    return length();
  } catch (error) {
    if (error instanceof DispatchError) return null;
    throw error;
  }
}
