// A family of models whose bodies are converted: a body in OpenAI's shape as `modelInput` of a
// record, and `modelOutput` as an answer in OpenAI's shape. Types only.

import type { Endpoint, JsonObject } from "../../contract/types.ts";
import type { Answered } from "../shapes/answered.ts";

/** What an answer is called that has no name of its own. */
export interface AnswerName {
  readonly recordId: string;
  readonly model: string;
  /** Of the job: an answer has no time of its own. */
  readonly createdAt: number;
}

export interface Family {
  /** The one endpoint of OpenAI's that it answers. */
  readonly endpoint: Endpoint;
  /** Throws INVALID_REQUEST, naming the place, for what the model cannot be asked. */
  toInput(body: JsonObject, defaultMaxTokens: number): JsonObject;
  /** A failure where the output is no answer. */
  toAnswer(output: JsonObject, name: AnswerName): Answered;
}

/** The families of models that `bedrockAccount` converts bodies for. */
export type BedrockFamily = "claude" | "nova" | "llama" | "titan";
