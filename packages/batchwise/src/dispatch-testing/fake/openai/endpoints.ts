// Batch endpoints of each OpenAI-shaped service, and the required fields of their bodies. Azure
// accepts endpoints with and without "/v1". Pure.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import type { FakeDialect, FakeLineFault } from "../types.ts";

const AUDIO = ["/v1/audio/transcriptions", "/v1/audio/translations"];
const OPENAI = [
  ...["/v1/chat/completions", "/v1/embeddings", "/v1/responses", "/v1/completions"],
  ...["/v1/moderations", "/v1/images/generations", "/v1/images/edits", "/v1/videos"],
];

const OF_DIALECT: Readonly<Record<FakeDialect, readonly string[]>> = {
  openai: OPENAI,
  azure: [...OPENAI, ...OPENAI.map((endpoint) => endpoint.slice("/v1".length))],
  groq: ["/v1/chat/completions", ...AUDIO],
  together: ["/v1/chat/completions", ...AUDIO],
  doubleword: ["/v1/chat/completions"],
  dashscope: ["/v1/chat/completions", "/v1/embeddings"],
  deepinfra: ["/v1/chat/completions", "/v1/embeddings"],
  novita: ["/v1/chat/completions", "/v1/completions"],
  siliconflow: ["/v1/chat/completions"],
  voyage: ["/v1/embeddings", "/v1/contextualizedembeddings", "/v1/rerank"],
};

/** Completion windows by dialect, if not "24h" only. */
const WINDOWS: Readonly<Partial<Record<FakeDialect, RegExp>>> = {
  groq: /^(?:24h|[1-7]d)$/,
  doubleword: /^(?:1h|24h)$/,
  voyage: /^12h$/,
  dashscope: /^(?:(?:2[4-9]|[3-9]\d|[12]\d\d|3[0-2]\d|33[0-6])h|(?:[1-9]|1[0-4])d)$/,
};

/** Required fields by endpoint: one of each list. */
const NEEDED: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "/v1/chat/completions": [["messages"]],
  "/v1/embeddings": [["input"]],
  "/v1/contextualizedembeddings": [["inputs"]],
  "/v1/rerank": [["query"], ["documents"]],
  "/v1/responses": [["input", "prompt"]],
  "/v1/completions": [["prompt"]],
  "/v1/moderations": [["input"]],
  "/v1/images/generations": [["prompt"]],
  "/v1/images/edits": [["prompt"], ["images"]],
  "/v1/videos": [["prompt"]],
};
/** The field with the audio's address, by dialect. */
const AUDIO_FIELDS: Readonly<Partial<Record<FakeDialect, string>>> = { groq: "url", together: "file" };

export function hasEndpoint(dialect: FakeDialect, endpoint: string): boolean {
  return OF_DIALECT[dialect].includes(endpoint);
}

export function hasWindow(dialect: FakeDialect, window: string): boolean {
  return (WINDOWS[dialect] ?? /^24h$/).test(window);
}

/** The endpoint with its "/v1". */
export function fullEndpoint(endpoint: string): string {
  return endpoint.startsWith("/v1/") ? endpoint : `/v1${endpoint}`;
}

/** The required `method` of a line: Together sends audio as a form, and its lines say so. */
export function methodOf(dialect: FakeDialect, endpoint: string): string {
  return dialect === "together" && AUDIO.includes(endpoint) ? "FILE" : "POST";
}

/** Null if a body has the fields that its endpoint needs and none that batches refuse. */
export function fieldFault(dialect: FakeDialect, endpoint: string, body: JsonObject): FakeLineFault | null {
  if (body.stream === true) {
    return fault("streaming_unsupported", "Streaming is not supported in the Batch API.", "body.stream");
  }
  if (body.background === true) {
    return fault(
      "background_unsupported",
      "Background responses are not supported in the Batch API.",
      "body.background",
    );
  }
  const audio = AUDIO.includes(endpoint) ? AUDIO_FIELDS[dialect] : undefined;
  const needed = audio === undefined ? (NEEDED[fullEndpoint(endpoint)] ?? []) : [[audio]];
  const [name] = needed.find((names) => names.every((each) => body[each] === undefined)) ?? [];
  if (name === undefined) return null;
  return fault("missing_required_parameter", `Missing required parameter: 'body.${name}'.`, `body.${name}`);
}

function fault(code: string, message: string, param: string): FakeLineFault {
  return { code, message, param };
}
