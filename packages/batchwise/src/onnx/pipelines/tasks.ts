// Facts about the tasks of @huggingface/transformers (3 and 4): their arguments, and the form of an
// answer.

import { invalidOption } from "../../core/contract/validate.ts";
import type { CallOptions } from "./types.ts";

/**
 * The form of one caller's result: an array, something else, or unknown. Distinguishes an unwrapped
 * answer from a whole one.
 */
export type ResultForm = "array" | "single" | "unknown";

const ALIASES: Readonly<Record<string, string>> = {
  "sentiment-analysis": "text-classification",
  ner: "token-classification",
  asr: "automatic-speech-recognition",
  embeddings: "feature-extraction",
  "text-to-speech": "text-to-audio",
};

const ONE_IMAGE = "its pipeline takes one image a call, so there is nothing to batch. Call the pipeline itself";

/** Tasks whose pipelines cannot answer several inputs at once, or answer them wrongly. */
const REFUSED: Readonly<Record<string, string>> = {
  "document-question-answering": ONE_IMAGE,
  "image-segmentation": ONE_IMAGE,
  "background-removal": ONE_IMAGE,
  "text-to-audio":
    "its pipeline makes all sounds of a call as long as the longest, with noise at the end. Call the pipeline itself",
};

/** Tasks that take only texts. */
const OF_TEXT: ReadonlySet<string> = new Set([
  "feature-extraction",
  "fill-mask",
  "summarization",
  "text-classification",
  "text2text-generation",
  "token-classification",
  "translation",
  "zero-shot-classification",
]);

const GIVES_ARRAYS: ReadonlySet<string> = new Set([
  "audio-classification",
  "fill-mask",
  "image-classification",
  "image-to-text",
  "object-detection",
  "text-generation",
  "token-classification",
  "zero-shot-audio-classification",
  "zero-shot-image-classification",
  "zero-shot-object-detection",
]);

const GIVES_SINGLES: ReadonlySet<string> = new Set([
  "automatic-speech-recognition",
  "depth-estimation",
  "image-to-image",
  "summarization",
  "text2text-generation",
  "translation",
  "zero-shot-classification",
]);

/** The task's own name, without an alias and without the languages of a translation. */
export function taskOf(name: string): string {
  const base = name.split("_", 1)[0] as string;
  return Object.hasOwn(ALIASES, base) ? (ALIASES[base] as string) : base;
}

/** Throws for a task that cannot be batched. */
export function refuseTask(task: string): void {
  const reason = Object.hasOwn(REFUSED, task) ? REFUSED[task] : undefined;
  if (reason === undefined) return;
  throw invalidOption(TypeError, `Expected a pipeline that answers several inputs in one call, got ${task}: ${reason}`);
}

export function takesText(task: string): boolean {
  return OF_TEXT.has(task);
}

/** True for tasks that take texts and conversations (arrays of messages). */
export function takesChats(task: string): boolean {
  return task === "text-generation";
}

export function takesPairs(task: string): boolean {
  return task === "question-answering";
}

export function takesLabels(task: string): boolean {
  return task.startsWith("zero-shot-");
}

export function formOf(task: string, options: CallOptions): ResultForm {
  if (GIVES_ARRAYS.has(task)) return "array";
  if (GIVES_SINGLES.has(task)) return "single";
  if (task !== "text-classification" && task !== "question-answering") return "unknown";
  // With any other `top_k` each input gets an array of answers.
  const { top_k: topK = 1 } = options;
  return topK === 1 ? "single" : "array";
}
