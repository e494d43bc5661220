// Lists the fields of requests and batch lines, and suggests a fix for any other. Pure.

import { nearestOf } from "../../../core/contract/validate.ts";
import { DispatchError } from "../../contract/errors.ts";

const REQUEST_FIELDS = ["body", "id", "endpoint", "priority", "deadlineAt", "tenant", "job", "metadata"];
const LINE_FIELDS = ["custom_id", "method", "url", "body"];
/** Short OpenAI parameters that the spelling check would take for a field. */
const SHORT_PARAMETERS = ["n", "user", "seed", "stop", "model"];
/** The batch line's name for a request's field. */
const LINE_WORDS: Readonly<Record<string, string>> = { id: "custom_id", endpoint: "url" };

/** Throws INVALID_REQUEST for a field that neither a request nor a batch line has. */
export function refuseUnknownFields(given: object, isLine: boolean): void {
  const known = isLine ? LINE_FIELDS : REQUEST_FIELDS;
  const unknown = Object.keys(given).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  throw new DispatchError("INVALID_REQUEST", `Unknown field \`${unknown}\`${hintFor(unknown, given, isLine)}`);
}

function hintFor(unknown: string, given: object, isLine: boolean): string {
  if (isLine && REQUEST_FIELDS.includes(unknown)) {
    const word = LINE_WORDS[unknown];
    if (word !== undefined) return `: a batch line names it \`${word}\`.`;
    return `: a batch line has only ${listed(LINE_FIELDS)}. Write a request, { id, endpoint, body, ${unknown} }.`;
  }
  const nearest = nearestOf(unknown, isLine ? LINE_FIELDS : REQUEST_FIELDS);
  const isSlip = nearest !== undefined && "body" in given && !SHORT_PARAMETERS.includes(unknown);
  return isSlip ? `, did you mean \`${nearest}\`?` : ": put OpenAI's parameters into `body`.";
}

function listed(fields: readonly string[]): string {
  return fields.map((field) => `\`${field}\``).join(", ");
}
