// Reads and checks one item for a task. An error in an item rejects only its own caller, not the
// batch.

import { describe } from "../../core/contract/errors.ts";
import { invalidOption } from "../../core/contract/validate.ts";
import { mergedOptions, partsOf, pipelineKey } from "./call.ts";
import { takesChats, takesLabels, takesPairs, takesText } from "./tasks.ts";
import { checkPooling } from "./tensors.ts";
import type { CallOptions, ReadCall } from "./types.ts";

export interface Reading {
  readonly task: string;
  readonly callOptions: CallOptions;
  readonly labels: readonly string[] | undefined;
  readonly tokenizer: unknown;
}

/** @throws TypeError with `code: "INVALID_OPTION"` for an item that the task cannot take. */
export function readCall(item: unknown, reading: Reading): ReadCall {
  const { task, callOptions, tokenizer } = reading;
  const parts = partsOf(item);
  const key = pipelineKey(item);
  checkInput(task, parts.input, parts.context);
  const labels = takesLabels(task) ? labelsOf(task, parts.labels ?? reading.labels) : undefined;
  if (labels === undefined && parts.labels !== undefined) throw wrong(task, "to have no `labels`", parts.labels);
  const options = mergedOptions(callOptions, parts.options);
  checkPooling(task, options, tokenizer);
  const context = takesPairs(task) ? (parts.context as string) : undefined;
  return { input: parts.input, context, labels, options, key };
}

function checkInput(task: string, input: unknown, context: unknown): void {
  if (takesPairs(task)) {
    if (typeof input === "string" && typeof context === "string") return;
    const expected = "to be { question, context } with two strings";
    throw wrong(task, expected, typeof input === "string" ? context : input);
  }
  if (takesText(task)) {
    if (typeof input !== "string") throw wrong(task, "to be a string, or { input } with one", input);
  } else if (takesChats(task)) {
    if (typeof input !== "string" && !isChat(input)) {
      throw wrong(task, "to be a string or an array of messages { role, content }", input);
    }
  } else if (input === undefined || input === null) {
    throw wrong(task, "to be an input of the pipeline", input);
  }
}

function isChat(input: unknown): boolean {
  return Array.isArray(input) && input.length > 0 && input.every(isMessage);
}

function isMessage(message: unknown): boolean {
  return typeof message === "object" && message !== null && "role" in message && "content" in message;
}

function labelsOf(task: string, labels: unknown): readonly string[] {
  if (Array.isArray(labels) && labels.length > 0 && labels.every((label) => typeof label === "string")) return labels;
  throw wrong(task, "to have `labels`, an array of strings, or the handler to have them", labels);
}

function wrong(task: string, expected: string, came: unknown): Error {
  const name = task === "" ? "an item of a pipeline" : `an item of ${task}`;
  return invalidOption(TypeError, `Expected ${name} ${expected}, got ${describe(came)}`);
}
