// Writes a whole answer as the event stream of its endpoint, for clients that can only stream.
// Each text is one delta. Events and their order match the provider's own stream.

import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { objectOf, objectsOf } from "../../format/json-object.ts";

type Event = readonly [name: string | null, data: JsonObject];

/**
 * The event stream as text, or null if the endpoint has none. `hasUsage`: the caller requested a
 * usage chunk.
 */
export function eventStreamOf(endpoint: Endpoint, answer: JsonObject, hasUsage: boolean): string | null {
  if (endpoint === "/v1/chat/completions") return written(chatChunks(answer, hasUsage), "data: [DONE]\n\n");
  if (endpoint === "/v1/completions") return written(completionChunks(answer, hasUsage), "data: [DONE]\n\n");
  if (endpoint === "/v1/messages") return written(messageEvents(answer));
  if (endpoint === "/v1/responses") return written(numbered(responseEvents(answer)));
  if (endpoint === "/v1beta/generateContent") return written([[null, answer]]);
  return null;
}

function written(events: Iterable<Event>, end = ""): string {
  let text = "";
  for (const [name, data] of events)
    text += `${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
  return text + end;
}

function* chatChunks(answer: JsonObject, hasUsage: boolean): Iterable<Event> {
  const { choices, usage = null, ...rest } = answer;
  const chunk = { ...rest, object: "chat.completion.chunk", ...(hasUsage ? { usage: null } : {}) };
  for (const { index = 0, message, finish_reason: reason = null, logprobs = null } of objectsOf(choices)) {
    const { tool_calls: calls, ...delta } = objectOf(message);
    const numberedCalls = objectsOf(calls).map((call, place) => ({ index: place, ...call }));
    const whole = numberedCalls.length === 0 ? delta : { ...delta, tool_calls: numberedCalls };
    yield [null, { ...chunk, choices: [{ index, delta: whole, logprobs, finish_reason: null }] }];
    yield [null, { ...chunk, choices: [{ index, delta: {}, logprobs: null, finish_reason: reason }] }];
  }
  if (hasUsage) yield [null, { ...chunk, choices: [], usage }];
}

function* completionChunks(answer: JsonObject, hasUsage: boolean): Iterable<Event> {
  const { choices, usage = null, ...chunk } = answer;
  for (const choice of objectsOf(choices)) yield [null, { ...chunk, choices: [choice] }];
  if (hasUsage) yield [null, { ...chunk, choices: [], usage }];
}

function* messageEvents(answer: JsonObject): Iterable<Event> {
  const { content, stop_reason, stop_sequence = null, usage = {}, ...rest } = answer;
  const start = { ...rest, content: [], stop_reason: null, stop_sequence: null, usage };
  yield ["message_start", { type: "message_start", message: start }];
  for (const [index, block] of objectsOf(content).entries()) {
    const { empty, deltas } = partsOfBlock(block);
    yield ["content_block_start", { type: "content_block_start", index, content_block: empty }];
    for (const delta of deltas) yield ["content_block_delta", { type: "content_block_delta", index, delta }];
    yield ["content_block_stop", { type: "content_block_stop", index }];
  }
  yield ["message_delta", { type: "message_delta", delta: { stop_reason, stop_sequence }, usage }];
  yield ["message_stop", { type: "message_stop" }];
}

/**
 * An Anthropic block as its start event has it, and the deltas that complete it. Other blocks are
 * sent whole.
 */
function partsOfBlock(block: JsonObject): { readonly empty: JsonObject; readonly deltas: readonly JsonObject[] } {
  const { type, text, thinking, signature, input } = block;
  if (type === "text") return { empty: { ...block, text: "" }, deltas: [{ type: "text_delta", text }] };
  if (type === "tool_use") {
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    return { empty: { ...block, input: {} }, deltas: [delta] };
  }
  if (type !== "thinking") return { empty: block, deltas: [] };
  const deltas = [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ];
  return { empty: { ...block, thinking: "", signature: "" }, deltas };
}

function* numbered(events: Iterable<JsonObject>): Iterable<Event> {
  let sequence_number = 0;
  for (const event of events) {
    yield [String(event.type), { ...event, sequence_number }];
    sequence_number += 1;
  }
}

function* responseEvents(response: JsonObject): Iterable<JsonObject> {
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  yield { type: "response.created", response: begun };
  yield { type: "response.in_progress", response: begun };
  for (const [output_index, item] of objectsOf(response.output).entries()) {
    yield* itemEvents(item, output_index);
  }
  const end = response.status === "incomplete" ? "response.incomplete" : "response.completed";
  yield { type: end, response };
}

function* itemEvents(item: JsonObject, output_index: number): Iterable<JsonObject> {
  const place = { output_index, item_id: item.id };
  const isMessage = item.type === "message";
  const isCall = item.type === "function_call";
  const empty = { ...item, status: "in_progress", ...(isMessage ? { content: [] } : isCall ? { arguments: "" } : {}) };
  yield { type: "response.output_item.added", output_index, item: empty };
  if (isCall) {
    const { arguments: text, name } = item;
    yield { type: "response.function_call_arguments.delta", ...place, delta: text };
    yield { type: "response.function_call_arguments.done", ...place, name, arguments: text };
  }
  for (const [content_index, part] of (isMessage ? objectsOf(item.content) : []).entries()) {
    yield* partEvents(part, { ...place, content_index });
  }
  yield { type: "response.output_item.done", output_index, item };
}

function* partEvents(part: JsonObject, place: JsonObject): Iterable<JsonObject> {
  const isText = part.type === "output_text";
  const [kind, key] = isText ? ["output_text", "text"] : ["refusal", "refusal"];
  const empty = isText ? { ...part, text: "", annotations: [] } : { ...part, refusal: "" };
  const logprobs = isText ? { logprobs: [] } : {};
  yield { type: "response.content_part.added", ...place, part: empty };
  yield { type: `response.${kind}.delta`, ...place, delta: part[key as string], ...logprobs };
  for (const [annotation_index, annotation] of objectsOf(part.annotations).entries()) {
    yield { type: "response.output_text.annotation.added", ...place, annotation_index, annotation };
  }
  yield { type: `response.${kind}.done`, ...place, [key as string]: part[key as string], ...logprobs };
  yield { type: "response.content_part.done", ...place, part };
}
