// OpenAI's checks of a batch file after it has accepted the batch, with its codes and messages. At
// least as strict as the real ones: a request that passes here should pass there.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { estimateTokens } from "../../../tokens/estimate-tokens.ts";
import type { Entry } from "../batch-book.ts";
import type { Settings } from "../settings.ts";
import type { FakeLineFault } from "../types.ts";
import { fieldFault, fullEndpoint, methodOf } from "./endpoints.ts";

const CUSTOM_ID = /^[A-Za-z0-9_-]{1,64}$/;
const BASE64 = /^(?:data:[^,]*,)?[A-Za-z0-9+/]+=*$/;
const LEAST_DATA = 1_000;
const DATA_CHARACTERS_A_LETTER = 8;

export interface CheckedFile {
  readonly entries: readonly Entry[];
  readonly faults: readonly FakeLineFault[];
  readonly model: string;
  readonly tokens: number;
}

interface Seen {
  readonly ids: Set<string>;
  model: string | null;
}

/** `params`: the create's fields for all lines, at services that accept them there; else null. */
export function checkFile(
  content: Uint8Array,
  endpoint: string,
  settings: Settings,
  params: JsonObject | null,
): CheckedFile {
  const texts = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString().split("\n");
  if (texts.at(-1) === "") texts.pop();
  const seen: Seen = { ids: new Set(), model: null };
  const entries: Entry[] = [];
  const faults: FakeLineFault[] = [];
  const { minLines, maxLines, maxEmbeddingInputs, namedFaults } = settings.limits;
  let [tokens, inputs] = [0, 0];
  for (const [index, text] of texts.entries()) {
    const line = wholeLine(parseLine(text), endpoint, params);
    const fault = line === null ? notJson : faultOf(line, endpoint, seen, settings);
    if (fault !== null) {
      if (faults.length < namedFaults) faults.push({ ...fault, line: index + 1 });
    } else if (line !== null) {
      tokens += estimateTokens(JSON.parse(JSON.stringify(line.body), withoutData));
      if (fullEndpoint(endpoint) === "/v1/embeddings") inputs += inputsOf(line.body as JsonObject);
      entries.push(entryOf(line, endpoint, settings));
    }
  }
  if (texts.length < minLines) faults.unshift(tooFew(minLines));
  if (texts.length > maxLines) faults.unshift(tooMany(`${maxLines} lines`));
  if (inputs > maxEmbeddingInputs) faults.unshift(tooMany(`${maxEmbeddingInputs} embedding inputs`));
  return { entries, faults, model: seen.model ?? "", tokens };
}

/**
 * Replaces base64 by a short text, because media do not count as text. The text has about as many
 * tokens as a PDF's pages, and more than audio.
 */
function withoutData(_name: string, value: Json): Json {
  const isData = typeof value === "string" && value.length >= LEAST_DATA && BASE64.test(value);
  return isData ? "x".repeat(value.length / DATA_CHARACTERS_A_LETTER) : value;
}

function parseLine(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * The line with the fields of its create. A line that has one of these fields itself stays
 * unchanged, which is a fault.
 */
function wholeLine(line: JsonObject | null, endpoint: string, params: JsonObject | null): JsonObject | null {
  if (line === null || params === null) return line;
  const { body } = line;
  if (Object.keys(line).length !== 2 || !isObject(body)) return line;
  if (Object.keys(params).some((name) => body[name] !== undefined)) return line;
  return { ...line, method: "POST", url: endpoint, body: { ...params, ...body } };
}

function entryOf(given: JsonObject, endpoint: string, settings: Settings): Entry {
  const body = given.body as JsonObject;
  const customId = given.custom_id as string;
  const line = { customId, endpoint: fullEndpoint(endpoint), body };
  return { ...line, identity: settings.identify(line), body: JSON.stringify(body) };
}

const notJson: FakeLineFault = { code: "invalid_json_line", message: "This line is not parseable as valid JSON." };

function faultOf(line: JsonObject, endpoint: string, seen: Seen, settings: Settings): FakeLineFault | null {
  const ownCheck = (): FakeLineFault | null => {
    const [customId, body] = [line.custom_id as string, line.body as JsonObject];
    return bodyFault(body, endpoint, seen, settings) ?? settings.faultOf({ customId, endpoint, body });
  };
  return envelopeFault(line, endpoint, seen, settings) ?? ownCheck();
}

function envelopeFault(line: JsonObject, endpoint: string, seen: Seen, settings: Settings): FakeLineFault | null {
  const missing = ["custom_id", "method", "url", "body"].find((name) => line[name] === undefined);
  if (missing !== undefined) return fault("missing_required_parameter", `Missing required parameter: '${missing}'.`);
  if (typeof line.custom_id !== "string" || !CUSTOM_ID.test(line.custom_id)) {
    return fault("invalid_custom_id", `Expected 'custom_id' to match ${CUSTOM_ID.source}.`, "custom_id");
  }
  if (seen.ids.has(line.custom_id)) {
    return fault("duplicate_custom_id", `The custom_id '${line.custom_id}' is in this file already.`, "custom_id");
  }
  seen.ids.add(line.custom_id);
  const method = methodOf(settings.dialect, endpoint);
  if (line.method !== method) return fault("invalid_method", `The method must be ${method}.`, "method");
  if (line.url !== endpoint) {
    return fault("url_mismatch", "The URL provided for this request does not match the batch endpoint.", "url");
  }
  return isObject(line.body) ? null : fault("invalid_request", "The body must be a JSON object.", "body");
}

function bodyFault(body: JsonObject, endpoint: string, seen: Seen, settings: Settings): FakeLineFault | null {
  const { model } = body;
  if (typeof model !== "string" || model === "") {
    return fault("missing_required_parameter", "Missing required parameter: 'body.model'.", "body.model");
  }
  if (settings.models !== null && !settings.models.includes(model)) {
    return fault("model_not_found", `The provided model '${model}' is not supported by the Batch API.`, "body.model");
  }
  seen.model ??= model;
  if (model !== seen.model) {
    return fault("mismatched_model", `All requests of a batch must name one model, '${seen.model}'.`, "body.model");
  }
  return fieldFault(settings.dialect, endpoint, body);
}

/** Number of texts in an embeddings line: one, or the entries of a list of texts or token lists. */
function inputsOf({ input }: JsonObject): number {
  if (input === undefined) return 0;
  return Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
}

function tooMany(most: string): FakeLineFault {
  return fault("too_many_tasks", `The batch input file contains more than ${most}.`);
}

function tooFew(least: number): FakeLineFault {
  return fault("too_few_tasks", `The batch input file contains fewer than ${least} lines.`);
}

function fault(code: string, message: string, param: string | null = null): FakeLineFault {
  return { code, message, param };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
