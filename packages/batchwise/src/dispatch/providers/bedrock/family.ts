// A model family with conversions from a body in OpenAI's format to a record's `modelInput`, and
// from `modelOutput` to an answer in OpenAI's format. Types only.

import type { Endpoint, JsonObject } from "../../contract/types.ts";
import type { Answered } from "../shapes/answered.ts";

/** Fields that OpenAI's answer has and the model's lacks. */
export interface AnswerName {
  readonly recordId: string;
  readonly model: string;
  /** The job's creation time, because an answer has none. */
  readonly createdAt: number;
}

export interface Family {
  /** The OpenAI endpoint that the family serves. */
  readonly endpoint: Endpoint;
  /** Throws INVALID_REQUEST, naming the path, for a field that the model does not support. */
  toInput(body: JsonObject, defaultMaxTokens: number): JsonObject;
  /** Returns a failure if the output is no answer. */
  toAnswer(output: JsonObject, name: AnswerName): Answered;
}

/** The model families whose bodies `bedrockAccount` converts. */
export type BedrockFamily = "claude" | "nova" | "llama" | "titan" | "openai";
