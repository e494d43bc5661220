// The turns with which a request goes again whose answer was refused, and the size of its line with
// them.

import { DispatchError } from "../../contract/errors.ts";
import type { Appended, RequestRow } from "../../contract/rows.ts";
import type { JsonObject } from "../../contract/types.ts";
import { turnsAfter, withTurns } from "../../decide/results/answer-turns.ts";
import { lineLimits, longestLine } from "../../decide/sealing/line-limits.ts";
import { serves } from "../../decide/sealing/rank-accounts.ts";
import { tokensOf } from "../../format/body-tokens.ts";
import { parseLane, SAMPLE_CUSTOM_ID, utf8Length } from "../../format/encode.ts";
import type { ResolvedOptions } from "../../options/resolve-options.ts";

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
  const { endpoint, model } = parseLane(row.lane);
  const turns = turnsAfter(endpoint, answer, why);
  if (turns === null) return null;
  const body = withTurns(row.body as string, turns);
  const bodyBytes = utf8Length(body);
  const tokens = tokensOf(JSON.parse(body) as JsonObject, bodyBytes === body.length);
  const serving = [...accounts.values()].filter((account) => serves(account, { endpoint, model }));
  const { mostBytes, mostTokens } = lineLimits(thresholds, serving);
  const bytes = lengthOrNull(() => longestLine(serving, { customId: SAMPLE_CUSTOM_ID, endpoint, body }, bodyBytes));
  return bytes === null || bytes > mostBytes || tokens > mostTokens ? null : { turns, bytes, tokens };
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
