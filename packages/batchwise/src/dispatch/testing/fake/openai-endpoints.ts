// Which endpoints each OpenAI-shaped service takes in batches, and what a body for one must have. Azure takes them with and
// without their "/v1". Pure.

import type { JsonObject } from "../../contract/types.ts";
import type { FakeDialect, FakeLineFault } from "./types.ts";

const AUDIO = ["/v1/audio/transcriptions", "/v1/audio/translations"];
const AZURE = ["/v1/chat/completions", "/v1/embeddings", "/v1/responses"];

const OF_DIALECT: Readonly<Record<FakeDialect, readonly string[]>> = {
  openai: [
    ...["/v1/chat/completions", "/v1/embeddings", "/v1/responses", "/v1/completions"],
    ...["/v1/moderations", "/v1/images/generations"],
  ],
  azure: [...AZURE, ...AZURE.map((endpoint) => endpoint.slice("/v1".length))],
  groq: ["/v1/chat/completions", ...AUDIO],
  together: ["/v1/chat/completions", ...AUDIO],
};

/** One of these must be there. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "/v1/chat/completions": ["messages"],
  "/v1/embeddings": ["input"],
  "/v1/responses": ["input", "prompt"],
  "/v1/completions": ["prompt"],
  "/v1/moderations": ["input"],
  "/v1/images/generations": ["prompt"],
  "/v1/audio/transcriptions": ["url", "file"],
  "/v1/audio/translations": ["url", "file"],
};

export function hasEndpoint(dialect: FakeDialect, endpoint: string): boolean {
  return OF_DIALECT[dialect].includes(endpoint);
}

/** The endpoint with its "/v1". */
export function fullEndpoint(endpoint: string): string {
  return endpoint.startsWith("/v1/") ? endpoint : `/v1${endpoint}`;
}

/** Null for a body that has what its endpoint needs, and nothing that batches do not do. */
export function fieldFault(endpoint: string, body: JsonObject): FakeLineFault | null {
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
  const needed = NEEDED[fullEndpoint(endpoint)] ?? [];
  if (needed.length === 0 || needed.some((name) => body[name] !== undefined)) return null;
  return fault("missing_required_parameter", `Missing required parameter: 'body.${needed[0]}'.`, `body.${needed[0]}`);
}

function fault(code: string, message: string, param: string): FakeLineFault {
  return { code, message, param };
}
