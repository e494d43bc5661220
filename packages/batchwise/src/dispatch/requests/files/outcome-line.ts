// One outcome as a line of JSONL. Pure.

import type { LoggedOutcome, Outcome } from "../../contract/types.ts";

export type OutcomeFormat = "openai" | "full";

/**
 * The line with its newline. `openai`: the format of OpenAI's output and error files. `full`: all
 * fields.
 */
export function outcomeLine(outcome: Outcome | LoggedOutcome, format: OutcomeFormat): string {
  return `${JSON.stringify(format === "full" ? outcome : openaiOutcome(outcome))}\n`;
}

/** `id` is the outcome's cursor if it has one, like OpenAI's line ids. */
function openaiOutcome(outcome: Outcome | LoggedOutcome): object {
  const { id, response, error } = outcome;
  return {
    id: "cursor" in outcome ? `outcome_${outcome.cursor}` : `outcome_of_${id}`,
    custom_id: id,
    response: response === null ? null : { status_code: response.statusCode, body: response.body },
    error: error === null ? null : { code: error.code, message: error.message },
  };
}
