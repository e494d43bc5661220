// Bedrock's checks of one record's input when it runs. Each model family has its own format,
// recognised by fields that only it has. Stricter than the real ones, so that a conversion that
// passes here should pass there.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { paramsFault } from "../anthropic/params.ts";
import { isObject } from "../openai/lines.ts";

const NOVA: ReadonlySet<string> = new Set(["schemaVersion", "system", "messages", "inferenceConfig", "toolConfig"]);
const LLAMA: ReadonlySet<string> = new Set(["prompt", "images", "max_gen_len", "temperature", "top_p"]);
const TITAN: ReadonlySet<string> = new Set(["inputText", "dimensions", "normalize", "embeddingTypes"]);
/** Fields of Titan's multimodal embeddings: a text, an image, or both. */
const TITAN_IMAGE: ReadonlySet<string> = new Set(["inputText", "inputImage", "embeddingConfig"]);

/** The endpoint of each family, for `answer` and `identify`. */
export function endpointOf(input: JsonObject): string {
  if (input.anthropic_version !== undefined) return "/v1/messages";
  if (isOpenAi(input)) return "/v1/chat/completions";
  return input.messages === undefined ? "/model/invoke" : "/model/converse";
}

/** Describes the first fault in a record's input; null if there is none. */
export function inputFault(input: JsonObject): string | null {
  if (input.anthropic_version !== undefined) return claudeFault(input);
  if (input.inputImage !== undefined || input.embeddingConfig !== undefined) return unknownIn(input, TITAN_IMAGE);
  if (input.inputText !== undefined) {
    return unknownIn(input, TITAN) ?? (isFilled(input.inputText) ? null : "inputText: expected minLength: 1");
  }
  if (input.prompt !== undefined) return unknownIn(input, LLAMA) ?? llamaFault(input);
  if (isOpenAi(input)) return openaiFault(input);
  return input.schemaVersion === undefined ? null : (unknownIn(input, NOVA) ?? novaFault(input));
}

function claudeFault({ anthropic_version: version, anthropic_beta: betas, ...params }: JsonObject): string | null {
  if (version !== "bedrock-2023-05-31") return "anthropic_version: Input should be 'bedrock-2023-05-31'";
  if (betas !== undefined && !Array.isArray(betas)) return "anthropic_beta: Input should be a valid list";
  if (params.model !== undefined) return "model: Extra inputs are not permitted";
  return paramsFault({ model: "of the job", ...params });
}

function novaFault({ schemaVersion: version, messages }: JsonObject): string | null {
  if (version !== "messages-v1") return "schemaVersion: unknown";
  if (!Array.isArray(messages) || messages.length === 0) return "messages: expected minimum item count: 1";
  const faulty = messages.findIndex((message) => {
    if (!isObject(message) || (message.role !== "user" && message.role !== "assistant")) return true;
    return !Array.isArray(message.content) || message.content.length === 0 || !message.content.every(isObject);
  });
  if (faulty >= 0) return `messages/${faulty}: malformed`;
  return isObject(messages[0]) && messages[0].role === "user" ? null : "A conversation must start with a user message.";
}

/** True for OpenAI's messages: texts, or parts with a type, which Nova's and Converse's lack. */
function isOpenAi({ messages, schemaVersion }: JsonObject): boolean {
  if (schemaVersion !== undefined || !Array.isArray(messages)) return false;
  return messages.some((message) => {
    const { content } = (message ?? {}) as { readonly content?: Json };
    return (
      typeof content === "string" ||
      (Array.isArray(content) && content.some((part) => isObject(part) && part.type !== undefined))
    );
  });
}

/** The model is the job's, and content is text. */
function openaiFault({ model, stream, messages }: JsonObject): string | null {
  if (model !== undefined) return "model: does not match the model of the job";
  if (stream === true) return "stream: must be false";
  const parts = (messages as readonly JsonObject[]).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.every((part) => isObject(part) && part.type === "text") ? null : "messages: only text is supported";
}

function llamaFault({ prompt, max_gen_len: limit }: JsonObject): string | null {
  if (!isFilled(prompt)) return "prompt: expected minLength: 1";
  return limit === undefined || Number(limit) >= 1 ? null : "max_gen_len: expected minimum: 1";
}

function unknownIn(input: JsonObject, known: ReadonlySet<string>): string | null {
  const unknown = Object.keys(input).find((name) => !known.has(name));
  return unknown === undefined ? null : `extraneous key [${unknown}] is not permitted`;
}

function isFilled(value: Json | undefined): boolean {
  return typeof value === "string" && value !== "";
}
