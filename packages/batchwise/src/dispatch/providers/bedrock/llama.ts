// Llama's chat models: converts the chat to one prompt in the template of the model's generation,
// and the answer from one text. Parameters are from the Bedrock user guide, "Meta Llama models";
// templates from Meta's model cards (one for llama3 to llama3-3, another for llama4). Refuses
// tools, stops and schemas, which have no field here. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { answered, noAnswer } from "../shapes/answered.ts";
import { count } from "../shapes/counts.ts";
import { partsOf } from "../shapes/openai/chat.ts";
import { checkChatFields, checkSampling, limitOf } from "../shapes/openai/chat-fields.ts";
import { readDataUrl } from "../shapes/openai/data-url.ts";
import { checkFields, dropAbsent, refusalsOf } from "../shapes/refusals.ts";
import { jsonObject, objectOf } from "../shapes/sdk/sdk-error.ts";
import type { Family } from "./family.ts";

const refuse = refusalsOf("Llama");

/** Labels and OpenAI's tiers, which have no effect here. */
const LEFT_OUT = ["user", "safety_identifier", "service_tier"];
const KNOWN: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
  ...LEFT_OUT,
]);
/**
 * Accepted fields of a message. Cache marks are ignored, because there is no cache. So is
 * everything but the text of earlier answers.
 */
const OF_MESSAGE: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "cache_control",
  "annotations",
  "reasoning_content",
]);
const OF_PART: ReadonlySet<string> = new Set([
  "type",
  "text",
  "refusal",
  "image_url",
  "cache_control",
  "prompt_cache_breakpoint",
]);
/** `detail` is ignored: images are read in one way. */
const OF_IMAGE: ReadonlySet<string> = new Set(["url", "detail"]);
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
]);

interface Template {
  head(role: string): string;
  readonly end: string;
}

const BEGIN = "<|begin_of_text|>";
const IMAGE = "<|image|>";
const LLAMA_3: Template = { head: (role) => `<|start_header_id|>${role}<|end_header_id|>\n\n`, end: "<|eot_id|>" };
const LLAMA_4: Template = { head: (role) => `<|header_start|>${role}<|header_end|>\n\n`, end: "<|eot|>" };
/** A special token in a text could speak for another role. */
const SPECIAL = /<\|[a-z0-9_]+\|>/i;

export const llama: Family = {
  endpoint: "/v1/chat/completions",
  toInput(body) {
    checkChatFields(body, KNOWN, refuse);
    checkSampling(body, refuse);
    refuseRest(body);
    const images: string[] = [];
    const template = /llama-?4/.test(String(body.model)) ? LLAMA_4 : LLAMA_3;
    return dropAbsent({
      prompt: toPrompt(body.messages, template, images),
      images: images.length === 0 ? undefined : images,
      max_gen_len: limitOf(body),
      temperature: body.temperature ?? undefined,
      top_p: body.top_p ?? undefined,
    });
  },
  /** Fields that are not read keep their own names. */
  toAnswer({ generation, prompt_token_count: input, generation_token_count: output, stop_reason: stop, ...own }, name) {
    const [prompt, completion] = [count(input), count(output)];
    if (typeof generation !== "string") return noAnswer("Llama answered without a generation.");
    const message = { role: "assistant", content: generation, refusal: null };
    return answered({
      id: name.recordId,
      object: "chat.completion",
      created: Math.floor(name.createdAt / 1000),
      model: name.model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: stop === "length" ? "length" : "stop" }],
      usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
      ...own,
    });
  },
};

function refuseRest(body: JsonObject): void {
  const { stop, tools, tool_choice: choice, response_format: format, reasoning_effort: effort } = body;
  const lists = Object.entries({ stop, tools });
  for (const [name, value] of lists) {
    const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) throw refuse.unsupported(`\`${name}\``);
  }
  if (choice !== undefined && choice !== null && choice !== "auto" && choice !== "none") {
    throw refuse.unsupported("`tool_choice`");
  }
  if ((format ?? null) !== null && objectOf(format).type !== "text") throw refuse.unsupported("`response_format`");
  if ((effort ?? null) !== null && effort !== "none") throw refuse.unsupported("`reasoning_effort`");
}

function toPrompt(messages: Json | undefined, { head, end }: Template, images: string[]): string {
  if (!Array.isArray(messages) || messages.length === 0) throw refuse.invalid("`messages` must be a non-empty array");
  const turns = messages.map((message, index) => {
    const place = `messages[${index}]`;
    const source = jsonObject(message);
    if (source === null) throw refuse.invalid(`\`${place}\` must be an object`);
    const role = ROLES.get(source.role);
    if (role === undefined) throw refuse.unsupported(`\`${place}.role\` ${JSON.stringify(source.role ?? null)}`);
    checkFields(source, OF_MESSAGE, place, refuse);
    return `${head(role)}${wordsOf(source, place, images)}${end}`;
  });
  return `${BEGIN}${turns.join("")}${head("assistant")}`;
}

function wordsOf(message: JsonObject, place: string, images: string[]): string {
  const said = partsOf(message.content, place, refuse);
  const parts = [...said, ...partsOf(message.refusal, place, refuse)];
  if (parts.length === 0) throw refuse.invalid(`\`${place}.content\` is empty`);
  return parts.map((part, index) => wordOf(part, `${place}.content[${index}]`, images)).join("");
}

function wordOf(part: JsonObject, place: string, images: string[]): string {
  checkFields(part, OF_PART, place, refuse);
  if (part.type === "image_url") {
    const source = objectOf(part.image_url) as JsonObject;
    checkFields(source, OF_IMAGE, `${place}.image_url`, refuse);
    const image = readDataUrl(source.url);
    if (image === null) throw refuse.unsupported(`\`${place}\`: an image other than base64 data`);
    images.push(image.data);
    return IMAGE;
  }
  const words = part.type === "text" ? part.text : part.type === "refusal" ? part.refusal : undefined;
  if (typeof words !== "string") throw refuse.unsupported(`\`${place}\` of type ${JSON.stringify(part.type ?? null)}`);
  const [special] = SPECIAL.exec(words) ?? [];
  if (special !== undefined)
    throw refuse.invalid(`\`${place}\` holds ${special}, which is a word of the prompt's template`);
  return words;
}
