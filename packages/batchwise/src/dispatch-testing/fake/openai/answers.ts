// Answers of the fake's models at OpenAI's other endpoints: an echo in the endpoint's format, with
// its own names for token counts. Each depends only on the request.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { hashOf } from "../random.ts";
import type { FakeLine } from "../types.ts";

const CREATED = 1_700_000_000;
/** The smallest PNG, of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/** Answers by endpoint. */
export const openaiAnswers: Readonly<Record<string, (line: FakeLine) => JsonObject>> = {
  "/v1/contextualizedembeddings": contextualized,
  "/v1/rerank": ranking,
  "/v1/responses": response,
  "/v1/completions": completion,
  "/v1/moderations": moderation,
  "/v1/images/generations": images,
  "/v1/images/edits": images,
  "/v1/videos": video,
  "/v1/audio/transcriptions": transcription,
  "/v1/audio/translations": transcription,
};

/** A vector of each chunk of each document. */
function contextualized({ body }: FakeLine): JsonObject {
  const documents = Array.isArray(body.inputs) ? body.inputs : [];
  const data = documents.map((chunks, index) => ({ object: "list", data: vectors(chunks), index }));
  return { object: "list", data, model: body.model ?? "", usage: { total_tokens: words(body.inputs) } };
}

function vectors(chunks: Json): JsonObject[] {
  const all = Array.isArray(chunks) ? chunks : [chunks];
  return all.map((chunk, index) => ({ object: "embedding", embedding: [hashOf(textOf(chunk)) / 2 ** 32, 1], index }));
}

/** The best document first: the one whose text is most like the query in length. */
function ranking({ body }: FakeLine): JsonObject {
  const documents = Array.isArray(body.documents) ? body.documents : [];
  const wanted = textOf(body.query).length;
  const scoreOf = (text: string): number => 1 / (1 + Math.abs(text.length - wanted));
  const data = documents.map((each, index) => ({ relevance_score: scoreOf(textOf(each)), index }));
  data.sort((one, other) => other.relevance_score - one.relevance_score);
  const total = words(body.query) + words(body.documents);
  return { object: "list", data, model: body.model ?? "", usage: { total_tokens: total } };
}

function response({ body, customId }: FakeLine): JsonObject {
  const text = `echo: ${textOf(body.input)}`;
  const [input, output] = [words(body.input), words(text)];
  return {
    id: `resp_${hashOf(customId).toString(16)}`,
    object: "response",
    created_at: CREATED,
    status: "completed",
    model: body.model ?? "",
    output: [
      {
        type: "message",
        id: `msg_${hashOf(customId).toString(16)}`,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: Math.floor(input / 2) },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: input + output,
    },
  };
}

function completion({ body, customId }: FakeLine): JsonObject {
  const text = `echo: ${textOf(body.prompt)}`;
  const [prompt, answer] = [words(body.prompt), words(text)];
  return {
    id: `cmpl-${hashOf(customId).toString(16)}`,
    object: "text_completion",
    created: CREATED,
    model: body.model ?? "",
    choices: [{ index: 0, text, logprobs: null, finish_reason: "stop" }],
    usage: { prompt_tokens: prompt, completion_tokens: answer, total_tokens: prompt + answer },
  };
}

/** A moderation is free and counts no tokens. */
function moderation({ body, customId }: FakeLine): JsonObject {
  const inputs = Array.isArray(body.input) && typeof body.input[0] === "string" ? body.input : [body.input ?? ""];
  const results = inputs.map((input) => {
    const flagged = textOf(input).includes("bad");
    return { flagged, categories: { harassment: flagged }, category_scores: { harassment: flagged ? 0.9 : 0.01 } };
  });
  return { id: `modr-${hashOf(customId).toString(16)}`, model: body.model ?? "", results };
}

function images({ body }: FakeLine): JsonObject {
  const [input, output] = [words(body.prompt), 272];
  const details = { text_tokens: input, image_tokens: 0 };
  return {
    created: CREATED,
    data: [{ b64_json: PIXEL }],
    usage: { input_tokens: input, input_tokens_details: details, output_tokens: output, total_tokens: input + output },
  };
}

/** A video that can be downloaded for a day. */
function video({ body, customId }: FakeLine): JsonObject {
  return {
    id: `video_${hashOf(customId).toString(16)}`,
    object: "video",
    created_at: CREATED,
    completed_at: CREATED,
    expires_at: CREATED + 86_400,
    status: "completed",
    progress: 100,
    error: null,
    model: body.model ?? "",
    prompt: body.prompt ?? "",
    seconds: body.seconds ?? "4",
    size: body.size ?? "720x1280",
    remixed_from_video_id: null,
  };
}

function transcription({ body }: FakeLine): JsonObject {
  return { text: `echo: ${textOf(body.url ?? body.file)}` };
}

/** The last text in a prompt or input, or in its last message or part. */
function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return textOf(value.at(-1));
  const { content, text } = (value ?? {}) as { readonly content?: Json; readonly text?: Json };
  return content === undefined && text === undefined ? "" : textOf(text ?? content);
}

function words(value: Json | undefined): number {
  return Math.max(1, Math.ceil(JSON.stringify(value ?? "").length / 4));
}
