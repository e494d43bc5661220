// Lines of a Vertex AI job by model family: Gemini's requests, Claude's messages, OpenAI's lines.
// An unreadable line fails the job; an invalid request fails only itself when it runs. Answers
// stand beside their requests; requests that did not run have no line.

import { STATUS_CODES } from "node:http";
import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { errorType } from "../anthropic/error-type.ts";
import { paramsFault } from "../anthropic/params.ts";
import type { Ending, Entry } from "../batch-book.ts";
import { geminiFault, strangeName } from "../gemini/params.ts";
import { statusName } from "../gemini/render.ts";
import { isObject } from "../openai/lines.ts";
import { hashOf } from "../random.ts";
import type { Settings } from "../settings.ts";
import type { FakeAnswer, FakeLine, FakeLineFault } from "../types.ts";

export type VertexFamily = "gemini" | "claude" | "openai" | "embedding";

const GENERATE = "/v1beta/generateContent";
const MESSAGES = "/v1/messages";
const EMBED = "/v1beta/embedContent";
/** Google's embedding models. Its others are Gemini. */
const EMBEDDING = /^publishers\/google\/models\/(text-(multilingual-)?embedding-|embedding-)/;
const OPENAI_URLS: readonly unknown[] = ["/v1/chat/completions", "/v1/embeddings"];
const LABEL = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;

export interface CheckedLines {
  readonly entries: readonly Entry[];
  readonly faults: readonly FakeLineFault[];
}

export function familyOf(modelPath: string): VertexFamily {
  if (EMBEDDING.test(modelPath)) return "embedding";
  const publisher = /^publishers\/([^/]+)\//.exec(modelPath)?.[1] ?? "google";
  return publisher === "google" ? "gemini" : publisher === "anthropic" ? "claude" : "openai";
}

export function checkLines(content: Uint8Array, family: VertexFamily, settings: Settings): CheckedLines {
  const { maxJobLines, maxJobBytes } = settings.limits;
  const texts = new TextDecoder().decode(content).split("\n");
  if (texts.at(-1) === "") texts.pop();
  const faults: FakeLineFault[] = [];
  if (texts.length > maxJobLines) faults.push(invalid(`More than ${maxJobLines} requests.`, null));
  if (content.length > maxJobBytes) faults.push(invalid(`More than ${maxJobBytes} bytes.`, null));
  const entries: Entry[] = [];
  for (const [index, text] of texts.entries()) {
    const entry = entryOf(text, family, index, settings);
    if (typeof entry === "string") faults.push(invalid(entry, index + 1));
    else entries.push(entry);
  }
  return { entries, faults };
}

function invalid(message: string, line: number | null): FakeLineFault {
  return { code: "INVALID_ARGUMENT", message, line };
}

/** The entry of a line, or a description of its fault. */
function entryOf(text: string, family: VertexFamily, index: number, settings: Settings): Entry | string {
  const line = parsed(text);
  if (line === null) return "Not a JSON object.";
  const read = readLine(line, family, index);
  if (typeof read === "string") return read;
  // Labels name the try, not the request.
  const { labels: _labels, ...same } = read.body;
  return { ...read, identity: settings.identify({ ...read, body: same }), body: JSON.stringify(read.body) };
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function readLine(line: JsonObject, family: VertexFamily, index: number): FakeLine | string {
  if (family === "openai") return readOpenAi(line);
  return family === "embedding" ? readText(line, index) : readRequest(line, family, index);
}

/** Reads a line with only a text. It has no id. */
function readText({ content, ...others }: JsonObject, index: number): FakeLine | string {
  const strange = Object.keys(others)[0];
  if (strange !== undefined) return `Unknown field "${strange}".`;
  if (typeof content !== "string" || content === "") return "Expected a content.";
  return { customId: `line-${index + 1}`, endpoint: EMBED, body: { content: { parts: [{ text: content }] } } };
}

function readOpenAi({ custom_id: customId, method, url, body, ...others }: JsonObject): FakeLine | string {
  const strange = Object.keys(others)[0];
  if (strange !== undefined) return `Unknown field "${strange}".`;
  if (typeof customId !== "string" || method !== "POST" || !OPENAI_URLS.includes(url) || !isObject(body)) {
    return "Expected custom_id, method, url and body.";
  }
  return { customId, endpoint: String(url), body };
}

function readRequest(line: JsonObject, family: VertexFamily, index: number): FakeLine | string {
  const { request, custom_id: id, ...others } = line;
  const strange = Object.keys(others)[0];
  if (strange !== undefined) return `Unknown field "${strange}".`;
  if (!isObject(request)) return "Expected a request.";
  if (family === "claude") {
    return typeof id === "string" ? { customId: id, endpoint: MESSAGES, body: request } : "Expected a custom_id.";
  }
  if (id !== undefined) return 'Unknown field "custom_id".';
  // The line has no id of its own, so the first label serves.
  const [first] = Object.values(isObject(request.labels) ? request.labels : {});
  return { customId: typeof first === "string" ? first : `line-${index + 1}`, endpoint: GENERATE, body: request };
}

/** The refusal of a request when it runs; null if it is valid. */
export function checkRequest({ endpoint, body }: FakeLine): FakeAnswer | null {
  const message = endpoint === GENERATE ? faultOfGemini(body) : endpoint === MESSAGES ? faultOfClaude(body) : null;
  if (message === null) return null;
  return { status: 400, body: { error: { type: "invalid_request_error", message } } };
}

function faultOfGemini(body: JsonObject): string | null {
  const labels = Object.entries(isObject(body.labels) ? body.labels : {});
  const odd = labels.find(([key, value]) => !LABEL.test(key) || !LABEL.test(String(value)));
  if (odd !== undefined) return `The label "${odd[0]}" is not valid.`;
  const strange = strangeName(body, false);
  return strange === null ? geminiFault(body, false) : `Unknown name "${strange}": Cannot find field.`;
}

function faultOfClaude({ anthropic_version: version, ...params }: JsonObject): string | null {
  if (version !== "vertex-2023-10-16") return "anthropic_version: Field required";
  if (params.model !== undefined) return "model: Extra inputs are not permitted";
  return paramsFault({ ...params, model: "of the job" });
}

/** One line of the output; null for a request that did not run. */
export function renderLine({ entry, answer }: Ending, family: VertexFamily, model: string): JsonObject | null {
  if (answer === null) return null;
  const { status, body } = answer;
  const isGood = status < 300;
  if (family === "openai") {
    const response = { status_code: status, request_id: hashOf(entry.customId).toString(16), body };
    return { id: `batch_req_${hashOf(entry.customId)}`, custom_id: entry.customId, response, error: null };
  }
  if (family === "embedding") return renderText(entry.body, answer);
  const request = JSON.parse(entry.body) as Json;
  const problem = isGood ? "" : `${STATUS_CODES[status] ?? "Unknown"}: ${JSON.stringify(errorOf(answer, family))}`;
  if (family === "gemini") {
    return { status: problem, processed_time: "2026-01-01T00:00:00.000+00:00", request, response: isGood ? body : {} };
  }
  return { custom_id: entry.customId, request, response: isGood ? { ...body, model } : null, status: problem };
}

/** The output of a text line, identified by the text. */
function renderText(asked: string, answer: FakeAnswer): JsonObject {
  const { content } = JSON.parse(asked) as {
    readonly content: { readonly parts: readonly { readonly text: string }[] };
  };
  const instance = { content: content.parts[0]?.text ?? "" };
  const { status, body } = answer;
  if (status >= 300) {
    const words = `${STATUS_CODES[status] ?? "Unknown"}: ${JSON.stringify(errorOf(answer, "embedding"))}`;
    return { instance, predictions: [], status: words };
  }
  const { values = null } = isObject(body.embedding) ? body.embedding : {};
  const statistics = { token_count: Math.ceil(instance.content.length / 4), truncated: false };
  return { instance, predictions: [{ embeddings: { statistics, values } }], status: "" };
}

function errorOf({ status, body }: FakeAnswer, family: VertexFamily): JsonObject {
  const { message = `Scripted answer ${status}.` } = isObject(body.error) ? body.error : {};
  if (family === "claude") return { type: "error", error: { type: errorType(status), message } };
  return { error: { code: status, message, status: statusName(status) } };
}
