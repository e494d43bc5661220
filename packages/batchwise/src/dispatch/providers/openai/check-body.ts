// Refuses bodies that a batch of an OpenAI-compatible service cannot run, before they are stored.
// The service checks ranges, which differ by service and model. Pure.

import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { inputsOf } from "../../format/inputs.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";

/** Rules for bodies that differ by service. */
export interface BodyRules {
  readonly endpoints: readonly Endpoint[];
  readonly maxInputs: number;
  readonly audioField?: "url" | "file";
}

type Check = (body: JsonObject, rules: BodyRules) => void;

/** Checks by endpoint. For any other, only `stream` is checked. */
const CHECKS: Readonly<Record<string, Check>> = {
  "/v1/chat/completions": checkMessages,
  "/v1/embeddings": checkInputs,
  "/v1/responses": checkResponse,
  "/v1/completions": (body) => checkGiven(body, "prompt"),
  "/v1/moderations": (body) => checkGiven(body, "input"),
  "/v1/images/generations": (body) => checkGiven(body, "prompt"),
  "/v1/images/edits": checkEdit,
  "/v1/videos": checkVideo,
  "/v1/rerank": checkRerank,
  "/v1/contextualizedembeddings": (body) => checkList(body, "inputs"),
  "/v1/audio/transcriptions": checkAudio,
  "/v1/audio/translations": checkAudio,
};

export function checkBody(rules: BodyRules, endpoint: Endpoint, body: JsonObject): void {
  if (!rules.endpoints.includes(endpoint)) throw invalid(`endpoint "${endpoint}" is not served here`);
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  CHECKS[endpoint]?.(body, rules);
}

function checkMessages({ messages }: JsonObject): void {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("`messages` must be a non-empty array");
  const odd = messages.findIndex((message) => text(objectOf(message).role) === null);
  if (odd >= 0) throw invalid(`\`messages[${odd}]\` has no role`);
}

function checkInputs(body: JsonObject, { maxInputs }: BodyRules): void {
  checkGiven(body, "input");
  if (inputsOf(body.input) > maxInputs) throw invalid(`\`input\` holds more than ${maxInputs} inputs`);
}

/**
 * A stored prompt may replace the input. Background responses are refused: nothing would poll them.
 */
function checkResponse(body: JsonObject): void {
  if (body.background === true) throw invalid("`background` is not possible in a batch");
  if (body.prompt === undefined || body.input !== undefined) checkGiven(body, "input");
}

/** A JSON line cannot contain a file, only the id or address of one. */
function checkEdit(body: JsonObject): void {
  checkGiven(body, "prompt");
  const { images, mask } = body;
  const isGiven = Array.isArray(images) && images.length > 0 && images.every(isReference);
  if (!isGiven) throw invalid("`images` must be a non-empty array of { file_id } or { image_url }");
  if (mask != null && !isReference(mask)) throw invalid("`mask` must be { file_id } or { image_url }");
}

function checkVideo(body: JsonObject): void {
  checkGiven(body, "prompt");
  const { input_reference: reference } = body;
  const isGood = reference == null || isReference(reference);
  if (!isGood) throw invalid("`input_reference` must be { file_id } or { image_url }");
}

function isReference(value: unknown): boolean {
  const { file_id: id, image_url: url } = objectOf(value);
  return text(id) !== null || text(url) !== null;
}

function checkAudio(body: JsonObject, { audioField }: BodyRules): void {
  const names = audioField === undefined ? ["url", "file"] : [audioField];
  if (names.some((name) => text(body[name]) !== null)) return;
  throw invalid(`${names.map((name) => `\`${name}\``).join(" or ")} must be the address of the audio`);
}

function checkRerank(body: JsonObject): void {
  if (text(body.query) === null) throw invalid("`query` must be a text");
  checkList(body, "documents");
}

function checkList(body: JsonObject, name: "documents" | "inputs"): void {
  const value = body[name];
  if (!Array.isArray(value) || value.length === 0) throw invalid(`\`${name}\` must be a non-empty array`);
}

function checkGiven(body: JsonObject, name: "input" | "prompt"): void {
  const value = body[name];
  const isGiven = typeof value === "string" ? value !== "" : Array.isArray(value) && value.length > 0;
  if (!isGiven) throw invalid(`\`${name}\` must be a text or a non-empty array`);
}

function invalid(reason: string): DispatchError {
  return new DispatchError("INVALID_REQUEST", `The request cannot be sent: ${reason}.`);
}
