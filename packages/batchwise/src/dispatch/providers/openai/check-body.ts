// What a body may not have in a batch of an OpenAI-shaped service, so that it is refused before it is stored. Ranges are
// the service's to check: they differ by service and model. Pure.

import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { inputsOf } from "../../format/inputs.ts";
import { objectOf, text } from "../shapes/sdk-error.ts";

type Check = (body: JsonObject, maxInputs: number) => void;

/** By endpoint; of any other only the stream is looked at. */
const CHECKS: Readonly<Record<string, Check>> = {
  "/v1/chat/completions": checkMessages,
  "/v1/embeddings": checkInputs,
  "/v1/responses": checkResponse,
  "/v1/completions": (body) => checkGiven(body, "prompt"),
  "/v1/moderations": (body) => checkGiven(body, "input"),
  "/v1/images/generations": (body) => checkGiven(body, "prompt"),
};

export function checkBody(
  { endpoints, maxInputs }: { readonly endpoints: readonly Endpoint[]; readonly maxInputs: number },
  endpoint: Endpoint,
  body: JsonObject,
): void {
  if (!endpoints.includes(endpoint)) throw invalid(`endpoint "${endpoint}" is not served here`);
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  CHECKS[endpoint]?.(body, maxInputs);
}

function checkMessages({ messages }: JsonObject): void {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("`messages` must be a non-empty array");
  const odd = messages.findIndex((message) => text(objectOf(message).role) === null);
  if (odd >= 0) throw invalid(`\`messages[${odd}]\` has no role`);
}

function checkInputs(body: JsonObject, maxInputs: number): void {
  checkGiven(body, "input");
  if (inputsOf(body.input) > maxInputs) throw invalid(`\`input\` holds more than ${maxInputs} inputs`);
}

/** A stored prompt may stand for the input. A batch has nobody who would ask for a background response later. */
function checkResponse(body: JsonObject): void {
  if (body.background === true) throw invalid("`background` is not possible in a batch");
  if (body.prompt === undefined || body.input !== undefined) checkGiven(body, "input");
}

function checkGiven(body: JsonObject, name: "input" | "prompt"): void {
  const value = body[name];
  const isGiven = typeof value === "string" ? value !== "" : Array.isArray(value) && value.length > 0;
  if (!isGiven) throw invalid(`\`${name}\` must be a text or a non-empty array`);
}

function invalid(reason: string): DispatchError {
  return new DispatchError("INVALID_REQUEST", `The request cannot be sent: ${reason}.`);
}
