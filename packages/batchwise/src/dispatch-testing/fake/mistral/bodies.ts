// Mistral's checks of one line's body when it runs. It refuses unknown fields, which most clients
// of OpenAI's format send; the messages are Mistral's. At least as strict as the real ones.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { isObject } from "../openai/lines.ts";
import type { FakeAnswer, FakeLine } from "../types.ts";

/** Fields of ChatCompletionRequest in @mistralai/mistralai 2.7.0. */
const CHAT: ReadonlySet<string> = new Set([
  ...["model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "metadata"],
  ...["response_format", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "prediction"],
  ...["parallel_tool_calls", "reasoning_effort", "prompt_mode", "guardrails", "prompt_cache_key", "service_tier"],
  ...["safe_prompt"],
]);
const EMBEDDINGS: ReadonlySet<string> = new Set([
  ...["model", "input", "metadata", "output_dimension", "output_dtype", "encoding_format"],
]);
const CLASSIFICATIONS: ReadonlySet<string> = new Set(["model", "input", "metadata"]);
const CHUNKS: ReadonlySet<Json | undefined> = new Set([
  ...["text", "image_url", "document_url", "reference", "file", "thinking", "input_audio"],
]);
const MESSAGES: ReadonlyMap<Json | undefined, readonly string[]> = new Map([
  ["system", ["role", "content"]],
  ["user", ["role", "content"]],
  ["assistant", ["role", "content", "tool_calls", "prefix"]],
  ["tool", ["role", "content", "tool_call_id", "name"]],
]);
const FORMATS: readonly Json[] = ["text", "json_object", "json_schema"];
const CHOICES: readonly Json[] = ["auto", "none", "any", "required"];
const CALL_ID = /^[a-zA-Z0-9]{9}$/;

/** The answer to an invalid body; null if it is valid. */
export function mistralFault({ endpoint, body }: FakeLine): FakeAnswer | null {
  switch (endpoint) {
    case "/v1/chat/completions":
      return unknownField(body, CHAT, []) ?? chatFault(body);
    case "/v1/embeddings":
      return unknownField(body, EMBEDDINGS, []) ?? textsFault(body);
    case "/v1/moderations":
      return unknownField(body, CLASSIFICATIONS, []) ?? textsFault(body);
    default:
      return null;
  }
}

function chatFault(body: JsonObject): FakeAnswer | null {
  const { messages, tools, tool_choice: choice, response_format: format } = body;
  if (!Array.isArray(messages) || messages.length === 0) return missing("messages");
  const formatType = isObject(format) ? format.type : "text";
  if (!FORMATS.includes(formatType as Json))
    return detail("enum", ["response_format", "type"], "Input should be valid");
  if (choice !== undefined && !isObject(choice) && !CHOICES.includes(choice)) {
    return detail("enum", ["tool_choice"], "Input should be 'auto', 'none', 'any' or 'required'");
  }
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const definition = isObject(tool) ? tool.function : undefined;
    if (isObject(tool) && tool.type !== "function") continue;
    if (!isObject(definition) || !isObject(definition.parameters)) return missing(`tools.${index}.function.parameters`);
  }
  return messagesFault(messages);
}

function messagesFault(messages: readonly Json[]): FakeAnswer | null {
  const open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const fields = isObject(message) ? MESSAGES.get(message.role) : undefined;
    if (!isObject(message) || fields === undefined) return detail("enum", ["messages", index, "role"], "Input tag");
    const fault = unknownField(message, new Set(fields), ["messages", index]) ?? contentFault(message, index);
    const wrong = fault ?? callsFault(message, open);
    if (wrong !== null) return wrong;
  }
  const last = messages.at(-1) as JsonObject;
  const fits = last.role === "user" || last.role === "tool" || (last.role === "assistant" && last.prefix === true);
  const words = `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${String(last.role)}`;
  return fits ? null : refused("invalid_request_message_order", "3230", words);
}

/** `open` holds the tool calls without results. */
function callsFault({ role, tool_calls: calls, tool_call_id: answered }: JsonObject, open: Set<string>) {
  for (const call of Array.isArray(calls) ? calls : []) {
    const id = String(isObject(call) ? call.id : "");
    if (!CALL_ID.test(id)) return refused("invalid_function_call", "3280", callIdWords(id));
    open.add(id);
  }
  if (role !== "tool" || open.delete(String(answered))) return null;
  return refused("invalid_request_message_order", "3230", "Unexpected tool call id in tool results");
}

function contentFault({ content }: JsonObject, index: number): FakeAnswer | null {
  if (content === undefined || content === null || typeof content === "string") return null;
  const chunks = Array.isArray(content) ? content : [null];
  const odd = chunks.findIndex((chunk) => !isObject(chunk) || !CHUNKS.has(chunk.type));
  if (odd >= 0)
    return detail("union_tag_invalid", ["messages", index, "content", odd], "Input tag found does not match");
  const deaf = chunks.some((chunk) => isObject(chunk) && chunk.type === "input_audio" && isObject(chunk.input_audio));
  return deaf ? detail("string_type", ["messages", index, "content", "input_audio"], "Input should be a string") : null;
}

function textsFault({ input }: JsonObject): FakeAnswer | null {
  const fits = typeof input === "string" || (Array.isArray(input) && input.every((each) => typeof each === "string"));
  return fits ? null : detail("string_type", ["input"], "Input should be a valid string");
}

function unknownField(source: JsonObject, known: ReadonlySet<string>, at: readonly (string | number)[]) {
  const name = Object.keys(source).find((each) => !known.has(each));
  return name === undefined ? null : detail("extra_forbidden", [...at, name], "Extra inputs are not permitted");
}

function callIdWords(id: string): string {
  return `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`;
}

function missing(name: string): FakeAnswer {
  return detail("missing", name.split("."), "Field required");
}

function detail(type: string, at: readonly (string | number)[], msg: string): FakeAnswer {
  const message = { detail: [{ type, loc: ["body", ...at], msg }] };
  return { status: 422, body: { object: "error", message, type: "invalid_request_error", param: null, code: null } };
}

function refused(type: string, code: string, message: string): FakeAnswer {
  return { status: 400, body: { object: "error", message, type, param: null, code } };
}
