// Converts Nova's answer to a chat completion in OpenAI's format (Nova user guides, "Response
// structure"). Fields without a counterpart keep Nova's names. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { type Answered, answered, noAnswer } from "../../shapes/answered.ts";
import { usageTogether } from "../../shapes/counts.ts";
import { jsonText } from "../../shapes/lines/exact-json.ts";
import { jsonObject, objectOf, text } from "../../shapes/sdk/sdk-error.ts";
import type { AnswerName } from "../family.ts";

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["tool_use", "tool_calls"],
  ["content_filtered", "content_filter"],
  ["guardrail_intervened", "content_filter"],
]);
/** Stop reasons that OpenAI's format expresses fully. */
const TOLD: ReadonlySet<unknown> = new Set([undefined, null, "end_turn", "max_tokens", "tool_use", "content_filtered"]);

/** A failure if there is no content. A filtered answer may have none. */
export function toNovaAnswer(output: JsonObject, { recordId, createdAt, model }: AnswerName): Answered {
  const { output: outer, stopReason, usage, ...own } = output;
  const { content } = objectOf(objectOf(outer).message);
  const finish = FINISH_REASONS.get(stopReason) ?? "stop";
  if (!Array.isArray(content) && finish !== "content_filter") return noAnswer("Nova answered without content.");
  const blocks = (Array.isArray(content) ? content : []).map(jsonObject).filter((block) => block !== null);
  const native = TOLD.has(stopReason) ? {} : { native_finish_reason: stopReason };
  return answered({
    id: recordId,
    object: "chat.completion",
    created: Math.floor(createdAt / 1000),
    model,
    choices: [
      {
        index: 0,
        message: toAnswer(blocks),
        logprobs: null,
        finish_reason: finish,
        ...native,
      },
    ],
    usage: toUsageBody(jsonObject(usage) ?? {}),
    ...own,
  });
}

function toAnswer(blocks: readonly JsonObject[]): JsonObject {
  const texts = blocks.flatMap((block) => (typeof block.text === "string" ? [block.text] : []));
  const thoughts = blocks.flatMap(({ reasoningContent: content }) => {
    return text(objectOf(objectOf(content).reasoningText).text) ?? [];
  });
  const calls = blocks.flatMap(({ toolUse }) => (jsonObject(toolUse) === null ? [] : [toToolCall(toolUse)]));
  const isPlain = blocks.every(({ text: words, toolUse, reasoningContent }) => {
    return words !== undefined || toolUse !== undefined || reasoningContent !== undefined;
  });
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join(""),
    refusal: null,
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join("") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(isPlain ? {} : { content_blocks: blocks }),
  };
}

function toToolCall(used: Json | undefined): JsonObject {
  const { toolUseId: id, name, input } = objectOf(used) as JsonObject;
  return { id, type: "function", function: { name, arguments: jsonText(input ?? {}) } };
}

/** OpenAI's usage. Nova counts cached input separately, as Claude does. */
function toUsageBody(usage: JsonObject): JsonObject {
  const {
    inputTokens,
    outputTokens,
    totalTokens: _total,
    cacheReadInputTokenCount: cached,
    cacheWriteInputTokenCount: created,
    ...own
  } = usage;
  return { ...usageTogether({ input: inputTokens, output: outputTokens, read: cached, written: created }), ...own };
}
