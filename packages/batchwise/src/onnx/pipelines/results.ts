// Splits the value that a pipeline returns for an array of inputs. Each caller gets the element in
// its input's place.

import { describe } from "../../core/contract/errors.ts";
import { isTensor } from "../../tensor/shape.ts";
import { countError } from "./errors.ts";
import { formOf, type ResultForm } from "./tasks.ts";
import { rowsOf } from "./tensors.ts";
import type { ReadCall } from "./types.ts";

/**
 * The results of calls that were made as one. Throws BATCH_RESULT if there is not one for each
 * call.
 */
export function resultsOf(output: unknown, calls: readonly ReadCall[], task: string, tokenizer: unknown): unknown[] {
  if (isTensor(output)) return rowsOf(output, calls, task, tokenizer);
  const form = formOf(task, calls[0]?.options ?? {});
  return calls.length === 1 ? [onlyResult(output, form)] : eachResult(output, calls.length, form);
}

/**
 * Some versions return the result of a single input without an array around it: question answering,
 * image-to-image and depth estimation in version 3, image segmentation in version 4.
 */
function onlyResult(output: unknown, form: ResultForm): unknown {
  if (output === undefined || output === null) throw countError(1, describe(output));
  if (!Array.isArray(output)) {
    if (form === "array") throw countError(1, describe(output));
    return output;
  }
  if (form === "array") {
    const isWhole = output.length === 1 && Array.isArray(output[0]);
    if (isWhole) return output[0];
    if (output.some((part) => Array.isArray(part))) throw countError(1, `${output.length}`);
    return output;
  }
  if (output.length !== 1) throw countError(1, `${output.length}`);
  return output[0];
}

function eachResult(output: unknown, count: number, form: ResultForm): unknown[] {
  if (!Array.isArray(output)) throw countError(count, describe(output));
  if (output.length !== count) throw countError(count, `${output.length}`);
  const odd = form === "array" ? output.findIndex((part) => !Array.isArray(part)) : -1;
  if (odd !== -1)
    throw countError(count, `${count}, of which number ${odd + 1} is not an array: ${describe(output[odd])}`);
  return output;
}
