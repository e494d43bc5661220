// Llama's chat models: converts the chat to one prompt in the template of the model's generation,
// and the answer from one text. Parameters are from the Bedrock user guide, "Meta Llama models";
// templates from Meta's model cards (one for llama3 to llama3-3, another for llama4). Refuses
// tools, stops and schemas, which have no field here. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { answered, noAnswer } from "../shapes/answered.ts";
import { count } from "../shapes/counts.ts";
import { type ChatRules, eachMessage, innerOf, partsOf, wordsOf } from "../shapes/openai/chat.ts";
import { CHAT_FIELDS, checkChatFields, checkSampling, limitOf } from "../shapes/openai/chat-fields.ts";
import { readDataUrl } from "../shapes/openai/data-url.ts";
import { dropAbsent, refusalsOf } from "../shapes/refusals.ts";
import { objectOf } from "../shapes/sdk/sdk-error.ts";
import type { Family } from "./family.ts";

const refuse = refusalsOf("Llama");
const KNOWN: ReadonlySet<string> = new Set([...CHAT_FIELDS, "parallel_tool_calls"]);
/**
 * Cache marks are ignored, because there is no cache. So is everything but the text of earlier
 * answers, and an image's `detail`: images are read in one way.
 */
const OF_MESSAGE: ReadonlySet<string> = new Set(["refusal", "cache_control", "annotations", "reasoning_content"]);
const rules: ChatRules = {
  refuse,
  own: {
    ...{ system: OF_MESSAGE, user: OF_MESSAGE, assistant: OF_MESSAGE },
    part: new Set(["cache_control", "prompt_cache_breakpoint"]),
  },
};

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
  const turns: string[] = [];
  eachMessage(messages, rules, (role, message, place) => {
    if (role === "tool") throw refuse.unsupported(`\`${place}.role\` "tool"`);
    const { tool_calls: calls = null } = message;
    if (calls !== null) throw refuse.unsupported(`\`${place}.tool_calls\``);
    turns.push(`${head(role)}${saidIn(message, place, images)}${end}`);
  });
  return `${BEGIN}${turns.join("")}${head("assistant")}`;
}

function saidIn(message: JsonObject, place: string, images: string[]): string {
  const parts = [...partsOf(message.content, place, refuse), ...partsOf(message.refusal, place, refuse)];
  if (parts.length === 0) throw refuse.invalid(`\`${place}.content\` is empty`);
  return parts.map((part, index) => said(part, `${place}.content[${index}]`, images)).join("");
}

function said(part: JsonObject, place: string, images: string[]): string {
  if (part.type === "image_url") {
    const image = readDataUrl(innerOf(part, place, rules).url);
    if (image === null) throw refuse.unsupported(`\`${place}\`: an image other than base64 data`);
    images.push(image.data);
    return IMAGE;
  }
  const words = wordsOf(part, place, rules);
  const [special] = SPECIAL.exec(words) ?? [];
  if (special !== undefined)
    throw refuse.invalid(`\`${place}\` holds ${special}, which is a word of the prompt's template`);
  return words;
}
