// Gemini's checks of a request: names and shapes when it is read, order of turns and ranges when it
// runs. At least as strict as the real ones, so that a conversion that passes here should pass
// there.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { isObject } from "../openai/lines.ts";

const NAMES: Readonly<Record<string, readonly string[]>> = {
  request: [
    ...["model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"],
    ...["cachedContent", "labels", "serviceTier"],
  ],
  content: ["role", "parts"],
  part: ["text", "inlineData", "fileData", "functionCall", "functionResponse", "thought", "thoughtSignature"],
  inlineData: ["mimeType", "data"],
  fileData: ["mimeType", "fileUri"],
  functionCall: ["id", "name", "args"],
  functionResponse: ["id", "name", "response"],
  tool: ["functionDeclarations", "googleSearch", "codeExecution", "urlContext"],
  functionDeclaration: ["name", "description", "parameters", "parametersJsonSchema"],
  toolConfig: ["functionCallingConfig"],
  functionCallingConfig: ["mode", "allowedFunctionNames"],
  generationConfig: [
    ...["candidateCount", "maxOutputTokens", "stopSequences", "temperature", "topP", "topK", "seed"],
    ...["presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs", "responseMimeType", "responseSchema"],
    ...["responseJsonSchema", "responseModalities", "thinkingConfig", "mediaResolution"],
  ],
  thinkingConfig: ["includeThoughts", "thinkingBudget", "thinkingLevel"],
  embedding: ["model", "content", "taskType", "title", "outputDimensionality"],
};
const DATA: readonly string[] = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
const MODES: ReadonlySet<Json | undefined> = new Set(["AUTO", "ANY", "NONE", "VALIDATED"]);
const LEVELS: ReadonlySet<Json | undefined> = new Set([undefined, "MINIMAL", "LOW", "MEDIUM", "HIGH"]);
const RESOLUTIONS: ReadonlySet<Json | undefined> = new Set([
  undefined,
  "MEDIA_RESOLUTION_LOW",
  "MEDIA_RESOLUTION_HIGH",
]);
/** Ranges of numbers in the generation config. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  candidateCount: [1, 8],
  maxOutputTokens: [1, 2 ** 31 - 1],
  temperature: [0, 2],
  topP: [0, 1],
  topK: [1, 2 ** 31 - 1],
  seed: [-(2 ** 31), 2 ** 31 - 1],
  presencePenalty: [-2, 2],
  frequencyPenalty: [-2, 2],
  logprobs: [0, 20],
};

/**
 * The first unknown field name in a request; null if there is none. Such a request is refused
 * before anything is accepted.
 */
export function strangeName(request: JsonObject, isEmbedding: boolean): string | null {
  if (isEmbedding) return strange("embedding", request) ?? strangeContent(request.content);
  const config = objectAt(request.generationConfig);
  const calling = objectAt(request.toolConfig);
  return (
    strange("request", request) ??
    firstOf([...listAt(request.contents), request.systemInstruction ?? null], strangeContent) ??
    firstOf(listAt(request.tools), (tool) => strange("tool", tool) ?? strangeDeclaration(objectAt(tool))) ??
    strange("toolConfig", calling) ??
    strange("functionCallingConfig", calling.functionCallingConfig) ??
    strange("generationConfig", config) ??
    strange("thinkingConfig", config.thinkingConfig)
  );
}

function strange(kind: string, value: Json | undefined): string | null {
  return Object.keys(objectAt(value)).find((name) => NAMES[kind]?.includes(name) !== true) ?? null;
}

function strangeContent(content: Json | undefined): string | null {
  const parts = listAt(objectAt(content).parts);
  const inside = (part: Json): string | null =>
    strange("part", part) ?? firstOf(DATA.slice(1), (kind) => strange(String(kind), objectAt(part)[String(kind)]));
  return strange("content", content) ?? firstOf(parts, inside);
}

function strangeDeclaration({ functionDeclarations: list }: JsonObject): string | null {
  return firstOf(listAt(list), (each) => strange("functionDeclaration", each));
}

/** Describes the first fault in a request with valid names; null if there is none. */
export function geminiFault(request: JsonObject, isEmbedding: boolean): string | null {
  if (isEmbedding) return embeddingFault(request);
  return configFault(objectAt(request.generationConfig)) ?? toolFault(request) ?? contentsFault(request);
}

function embeddingFault({ content, outputDimensionality: size }: JsonObject): string | null {
  const texts = listAt(objectAt(content).parts).map((part) => objectAt(part).text);
  if (texts.length === 0 || !texts.every((text) => typeof text === "string" && text !== "")) {
    return "* EmbedContentRequest.content: contents is not specified";
  }
  const fits = size === undefined || (Number.isInteger(size) && Number(size) > 0);
  return fits ? null : "* EmbedContentRequest.output_dimensionality: must be positive";
}

function configFault(config: JsonObject): string | null {
  const bad = Object.entries(RANGES).find(([name, range]) => !isWithin(config[name], range));
  if (bad !== undefined) return `* GenerateContentRequest.generation_config.${bad[0]}: out of range`;
  const { stopSequences: stops, thinkingConfig: thinking, responseLogprobs, logprobs } = config;
  if (listAt(stops).length > 5) return "The number of stop sequences must be at most 5";
  if (listAt(stops).some((stop) => stop === "")) return "stop_sequences: must not be empty";
  if (logprobs !== undefined && responseLogprobs !== true) return "logprobs needs response_logprobs";
  const { thinkingLevel, thinkingBudget } = objectAt(thinking);
  if (!LEVELS.has(thinkingLevel) || !RESOLUTIONS.has(config.mediaResolution)) return "Invalid value of an enum";
  if (thinkingLevel !== undefined && thinkingBudget !== undefined)
    return "You can only set one of thinking budget and level";
  const isJson = config.responseMimeType === "application/json";
  return isJson || config.responseJsonSchema === undefined ? null : "response_json_schema needs application/json";
}

function isWithin(value: Json | undefined, [least, most]: readonly [number, number]): boolean {
  return value === undefined || (typeof value === "number" && value >= least && value <= most);
}

function toolFault({ tools, toolConfig }: JsonObject): string | null {
  const declared = listAt(tools).flatMap((tool) => listAt(objectAt(tool).functionDeclarations));
  const known = declared.map((each) => objectAt(each).name);
  const unnamed = known.find((name) => typeof name !== "string" || !/^[A-Za-z_][\w.:-]{0,127}$/.test(name));
  if (unnamed !== undefined) return "Invalid function name";
  if (toolConfig === undefined) return null;
  const { mode, allowedFunctionNames: allowed } = objectAt(objectAt(toolConfig).functionCallingConfig);
  if (!MODES.has(mode)) return "Invalid function calling mode";
  if (declared.length === 0) return "Function calling config is set without function_declarations.";
  if (allowed !== undefined && mode !== "ANY" && mode !== "VALIDATED") return "allowed_function_names needs mode ANY";
  return listAt(allowed).every((name) => known.includes(name)) ? null : "allowed_function_names: unknown function";
}

function contentsFault({ contents, systemInstruction }: JsonObject): string | null {
  const turns = listAt(contents).map(objectAt);
  if (turns.length === 0) return "* GenerateContentRequest.contents: contents is not specified";
  const system = listAt(objectAt(systemInstruction).parts);
  if (system.some((part) => typeof objectAt(part).text !== "string")) return "system_instruction: text only";
  let open: readonly Json[] = [];
  for (const [place, { role, parts }] of turns.entries()) {
    if (role !== "user" && role !== "model") return "Please use a valid role: user, model.";
    const list = listAt(parts);
    const fault = list.length === 0 ? "must have parts" : firstOf(list, partFault);
    if (fault !== null) return `* GenerateContentRequest.contents[${place}].parts: ${fault}`;
    const [calls, results] = [namesOf(list, "functionCall"), namesOf(list, "functionResponse")];
    if (JSON.stringify(results.toSorted()) !== JSON.stringify(open.toSorted())) {
      return "the number of function response parts must equal the number of function call parts of the turn before";
    }
    open = calls;
  }
  return open.length === 0 ? null : "the last function call has no response";
}

function partFault(value: Json): string | null {
  const part = objectAt(value);
  const [kind, ...others] = DATA.filter((name) => part[name] !== undefined);
  if (kind === undefined || others.length > 0) return "required oneof field 'data' must have one initialized field";
  if (kind === "text") return typeof part.text === "string" && part.text !== "" ? null : "text is empty";
  const { mimeType, data, fileUri, name, args, response } = objectAt(part[kind]);
  switch (kind) {
    case "inlineData":
      return typeof mimeType === "string" && /^[A-Za-z0-9+/]+=*$/.test(String(data)) ? null : "bad inline_data";
    case "fileData":
      return /^(?:https|gs):\/\//.test(String(fileUri)) ? null : "Unsupported file uri";
    case "functionCall":
      return typeof name === "string" && (args === undefined || isObject(args)) ? null : "bad function_call";
    default:
      return typeof name === "string" && isObject(response) ? null : "bad function_response";
  }
}

function namesOf(parts: readonly Json[], kind: string): string[] {
  return parts.flatMap((part) =>
    objectAt(part)[kind] === undefined ? [] : [String(objectAt(objectAt(part)[kind]).name)],
  );
}

function firstOf<T>(values: readonly T[], judge: (value: T) => string | null): string | null {
  for (const value of values) {
    const fault = judge(value);
    if (fault !== null) return fault;
  }
  return null;
}

function objectAt(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function listAt(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
