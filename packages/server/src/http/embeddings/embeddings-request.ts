/**
 * Checks the body of `POST /v1/embeddings` and converts its four kinds of input to one.
 *
 * Guarantees: the model can answer the result, apart from texts with too many tokens. Every error
 * names the field and the expected value. Unknown fields are ignored, as by other servers of this
 * protocol, except fields that are clearly misspelt: ignoring these would give the caller a wrong
 * answer.
 */

import type { ModelDescription } from "../../models/embedder.ts";
import { invalidRequest, modelNotFound } from "../errors.ts";
import { checkTokens, wrongInput } from "./token-ids.ts";

/** OpenAI's limit, for which its clients are written. */
export const MAX_INPUTS = 2048;

export interface EmbeddingsRequest {
  /** Texts, or token ids that are used unchanged. */
  readonly inputs: readonly (string | ArrayLike<number>)[];
  readonly encoding: "float" | "base64";
  /** Length to which each vector is cut; null for the whole vector. */
  readonly dimensions: number | null;
  /** The body's field `user`. */
  readonly user: string | null;
}

export function parseEmbeddingsRequest(body: Record<string, unknown>, model: ModelDescription): EmbeddingsRequest {
  checkNames(body);
  checkModel(body.model, model.name);
  return {
    inputs: parseInput(body.input, model),
    encoding: parseEncoding(body.encoding_format),
    dimensions: parseDimensions(body.dimensions, model.dimensions),
    user: parseUser(body.user),
  };
}

/** Names of this service's fields in other services and libraries. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ...["inputs", "text", "texts", "sentences", "documents", "prompt"].map((name) => [name, "`input`"] as const),
  ...["dimension", "dims", "dim", "output_dimension", "output_dimensionality"].map(
    (name) => [name, "`dimensions`"] as const,
  ),
  ...["encoding", "encodingFormat", "output_dtype"].map((name) => [name, "`encoding_format`"] as const),
  ["model_name", "`model`"],
  ["priority", "the header `x-priority`"],
  ["timeout_ms", "the header `x-timeout-ms`"],
]);

function checkNames(body: Record<string, unknown>): void {
  for (const [name, ours] of MEANT) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    throw invalidRequest(`Unknown field \`${name}\`: it is ${ours} here.`, name, "unknown_parameter");
  }
}

function checkModel(asked: unknown, served: string): void {
  if (asked === undefined || asked === null || asked === "") {
    throw invalidRequest("You must provide a `model`.", "model", "missing_required_parameter");
  }
  if (typeof asked !== "string") throw invalidRequest("Expected `model` to be a string.", "model", "invalid_type");
  if (asked !== served) throw modelNotFound(asked, served);
}

function parseInput(input: unknown, model: ModelDescription): readonly (string | readonly number[])[] {
  if (input === undefined || input === null) {
    throw invalidRequest("You must provide an `input`.", "input", "missing_required_parameter");
  }
  if (typeof input === "string") return [checkText(input, "input")];
  if (!Array.isArray(input)) throw wrongInput("input");
  const items: readonly unknown[] = input;
  if (items.length === 0) {
    throw invalidRequest("Expected `input` to hold at least one text, got an empty array.", "input", "empty_array");
  }
  if (items.every((item) => typeof item === "number")) return [checkTokens(items, model, "input")];
  if (items.length > MAX_INPUTS) {
    const message = `Expected \`input\` to hold at most ${MAX_INPUTS} texts, got ${items.length}.`;
    throw invalidRequest(message, "input", "array_above_max_length");
  }
  return items.map((item, index) => {
    const place = `input[${index}]`;
    if (typeof item === "string") return checkText(item, place);
    if (Array.isArray(item)) return checkTokens(item, model, place);
    throw wrongInput(place);
  });
}

function checkText(text: string, place: string): string {
  if (text === "") throw invalidRequest(`Expected \`${place}\` not to be an empty string.`, "input", "empty_string");
  return text;
}

function parseUser(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  throw invalidRequest("Expected `user` to be a string.", "user", "invalid_type");
}

function parseEncoding(value: unknown): "float" | "base64" {
  if (value === undefined || value === null) return "float";
  if (value === "float" || value === "base64") return value;
  throw invalidRequest('Expected `encoding_format` to be "float" or "base64".', "encoding_format", "invalid_value");
}

function parseDimensions(value: unknown, available: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= available) return value;
  const message = `Expected \`dimensions\` to be an integer from 1 to ${available}, the model's own.`;
  throw invalidRequest(message, "dimensions", "invalid_value");
}
