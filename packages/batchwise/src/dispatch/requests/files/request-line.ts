// Parses one line of a JSONL request file for `enqueue`. Three forms: a line of an OpenAI batch
// file, a request of this library, or a bare body. Errors name the line, the expected and the
// actual value. `enqueue` checks models, endpoints and the body's fields against the accounts.
// Pure.

import { isError } from "../../../core/contract/errors.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { BatchLine, DispatchRequest, JsonObject } from "../../contract/types.ts";
import { isJsonObject } from "../../format/json-object.ts";
import { shortened } from "../../format/stored-code.ts";

const LINE_FIELDS = ["custom_id", "method", "url", "body"];
const REQUEST_FIELDS = ["body", "id", "job", "endpoint", "priority", "deadlineAt", "tenant", "metadata"];
const FORMS = "a line of an OpenAI batch file, `{ body, id? }`, or a body with `messages` or `input`";
const SHOWN = 60;

/** `line` counts from 1 and appears only in messages. */
export function requestOfLine(text: string, line: number): DispatchRequest | BatchLine {
  const value = parsed(text, line);
  if ("custom_id" in value) return batchLine(value, line);
  if ("body" in value) return request(value, line);
  if ("messages" in value || "input" in value) return bare(value, line);
  const keys = Object.keys(value);
  throw refusal(line, FORMS, keys.length === 0 ? "an empty object" : `an object with only ${listed(keys)}`);
}

function parsed(text: string, line: number): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const hint = /^\s*[[{]\s*$/.test(text) ? ". JSONL has each request whole in one line, and no list around them" : "";
    // The parser's own line number is always 1.
    const reason = isError(cause) ? ` (${cause.message.replace(/ \(line 1 column \d+\)$/, "")})` : "";
    throw refusal(line, "JSON", `${shortened(text, SHOWN)}${hint === "" ? reason : hint}`, cause);
  }
  if (isJsonObject(value)) return value;
  throw refusal(line, "one JSON object", Array.isArray(value) ? "a list" : shortened(text, SHOWN));
}

/** Without a `url` it is a request with that id. The url may lack `/v1`, as in files for Azure. */
function batchLine(value: JsonObject, line: number): DispatchRequest | BatchLine {
  if ("params" in value) throw refusal(line, "`body`, in OpenAI's shape", "`params`, as for Anthropic's API itself");
  checkFields(value, LINE_FIELDS, line);
  const { custom_id: id, method = "POST", url } = value;
  const body = bodyOf(value, line);
  if (typeof id !== "string") throw refusal(line, "a string as `custom_id`", shown(id));
  if (method !== "POST") throw refusal(line, 'the `method` "POST"', shown(method));
  if (url === undefined) return { id, body };
  if (typeof url !== "string") throw refusal(line, "a string as `url`", shown(url));
  return { custom_id: id, method, url: url.startsWith("/v1/") ? url : `/v1${url}`, body };
}

function request(value: JsonObject, line: number): DispatchRequest {
  checkFields(value, REQUEST_FIELDS, line);
  checkId(value.id, line);
  bodyOf(value, line);
  return value as unknown as DispatchRequest;
}

/** No provider takes an `id` in a body, so it is the request's id. */
function bare(value: JsonObject, line: number): DispatchRequest {
  const { id, ...body } = value;
  checkId(id, line);
  return id === undefined ? { body } : { id: id as string, body };
}

function bodyOf({ body }: JsonObject, line: number): JsonObject {
  if (isJsonObject(body)) return body;
  throw refusal(line, "an object as `body`", shown(body));
}

function checkId(id: unknown, line: number): void {
  if (id !== undefined && typeof id !== "string") throw refusal(line, "a string as `id`", shown(id));
}

function checkFields(value: JsonObject, known: readonly string[], line: number): void {
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined) throw refusal(line, `only the fields ${listed(known)}`, `\`${unknown}\``);
}

function refusal(line: number, expected: string, came: string, cause?: unknown): DispatchError {
  return new DispatchError("INVALID_REQUEST", `Line ${line}: expected ${expected}, got ${came}.`, cause);
}

function shown(value: unknown): string {
  return value === undefined ? "none" : shortened(JSON.stringify(value), SHOWN);
}

function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}
