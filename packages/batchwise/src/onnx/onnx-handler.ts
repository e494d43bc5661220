// A handler for `batchTensors` that runs a session made by the user, with any onnxruntime, in the
// calling thread.

import { describe } from "../core/contract/errors.ts";
import {
  checkIsObject,
  expected,
  invalidOption,
  objectWith,
  type Rule,
  refuseUnknown,
} from "../core/contract/validate.ts";
import type { TensorForm } from "../tensor/batch-input.ts";
import type { FeaturesOf, Tensor, TensorLike } from "../tensor/types.ts";
import { plainTensor } from "./answer.ts";
import { modelFailedError } from "./errors.ts";
import { checkCall, checkInputs, feedOf } from "./feeds.ts";
import type { OnnxSession, OnnxTensorClass } from "./session.ts";

/** Options of `onnxHandler`; all are optional. */
export interface OnnxHandlerOptions {
  /** Names of the outputs that callers get. Default: all of the model's. */
  readonly outputs?: readonly string[] | undefined;
  /**
   * The runtime's class `Tensor`, for a runtime that accepts only its instances. No known one does.
   */
  readonly Tensor?: OnnxTensorClass | undefined;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** Runs the model once: a tensor for each input in, a tensor for each output out. */
export interface OnnxHandler<Inputs, Output> {
  (features: Inputs): Promise<Output>;
  /**
   * Throws MODEL_INPUT for a call that the model does not take. Only that call fails; it is not
   * padded until it fits.
   */
  checkInputs(forms: Readonly<Record<string, TensorForm>>): void;
}

const aSession: Rule = {
  expected: "an InferenceSession, with inputNames, outputNames and run",
  type: "object",
  test: (value: Partial<OnnxSession>) =>
    typeof value.run === "function" && Array.isArray(value.inputNames) && Array.isArray(value.outputNames),
};

const OPTIONS: readonly (keyof OnnxHandlerOptions)[] = ["outputs", "Tensor"];

/**
 * A handler for `batchTensors` that runs a session of onnxruntime-node, onnxruntime-web or
 * onnxruntime-react-native in this thread. It takes features under the names of the model's inputs
 * and returns a record of the model's outputs.
 *
 * `Inputs` and `Output` are the types of the tensors that the model takes and gives. At run time
 * they are checked as far as the runtime describes the model: names always, types and fixed
 * dimensions if it has `inputMetadata`.
 *
 * A run of onnxruntime-node blocks its thread from start to end: in a server use `onnxModel`.
 *
 * @returns a function that rejects with MODEL_INPUT for tensors that are not the model's inputs,
 * and with MODEL_FAILED (`cause`: the runtime's error) if a run fails or does not give a tensor for
 * each output.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` if `session` is not a session, or
 * if it lacks one of `outputs`.
 *
 * @example
 * ```ts
 * import { onnxHandler } from "batchwise/onnx";
 * import { batchTensors } from "batchwise/tensor";
 * import { InferenceSession } from "onnxruntime-node";
 *
 * const session = await InferenceSession.create("model.onnx");
 * const run = batchTensors(onnxHandler(session, { outputs: ["logits"] }), { maxBatchCost: "learn", order: "length" });
 * ```
 */
export function onnxHandler<Inputs extends FeaturesOf<Inputs> = Tensors, Output extends FeaturesOf<Output> = Tensors>(
  session: OnnxSession,
  options?: OnnxHandlerOptions,
): OnnxHandler<Inputs, Output> {
  if (typeof session !== "object" || session === null || !aSession.test(session as never)) {
    throw expected("session", aSession, session, TypeError);
  }
  checkIsObject("options", options);
  refuseUnknown(options ?? {}, OPTIONS, "");
  const { outputs, Tensor } = options ?? {};
  const fetches = outputsOf(session, outputs);
  const handler = async (features: Inputs): Promise<Output> =>
    (await run(session, fetches, features as Readonly<Record<string, TensorLike>>, Tensor)) as never;
  return Object.assign(handler, {
    checkInputs: (forms: Readonly<Record<string, TensorForm>>): void => checkCall(session, forms),
  });
}

/** The names of the outputs to request. Throws INVALID_OPTION. */
export function outputsOf({ outputNames }: Pick<OnnxSession, "outputNames">, chosen: unknown): readonly string[] {
  if (chosen === undefined) return [...outputNames];
  const aList: Rule = { ...objectWith(), expected: "a list of names of outputs, at least one" };
  if (!Array.isArray(chosen) || chosen.length === 0) throw expected("outputs", aList, chosen, TypeError);
  for (const name of chosen as unknown[]) {
    if (!outputNames.includes(name as string)) {
      const message = `The model has no output \`${String(name)}\`. It has ${outputNames.join(", ")}`;
      throw invalidOption(RangeError, message);
    }
  }
  return [...(chosen as string[])];
}

async function run(
  session: OnnxSession,
  fetches: readonly string[],
  features: Readonly<Record<string, TensorLike>>,
  Tensor: OnnxTensorClass | undefined,
): Promise<Tensors> {
  checkInputs(session, features);
  const feeds = Object.fromEntries(session.inputNames.map((name) => [name, feedOf(features[name] as never, Tensor)]));
  const given = await startRun(session, feeds, fetches);
  const answer: Record<string, Tensor> = {};
  for (const name of fetches) answer[name] = await outputOf(given, name);
  return answer;
}

/**
 * Rejects with MODEL_FAILED if the value is not a tensor, or its data cannot be copied to this
 * thread.
 */
async function outputOf(given: unknown, name: string): Promise<Tensor> {
  try {
    const tensor: unknown = (given as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    const { dims } = (tensor ?? {}) as { readonly dims?: unknown };
    if (!Array.isArray(dims)) {
      throw new Error(`Expected the session to give a tensor \`${name}\`, got ${describe(tensor)}`);
    }
    return await plainTensor(tensor);
  } catch (error) {
    throw modelFailedError(error);
  }
}

async function startRun(
  session: OnnxSession,
  feeds: Readonly<Record<string, never>>,
  fetches: readonly string[],
): Promise<unknown> {
  try {
    return await session.run(feeds, fetches);
  } catch (error) {
    throw modelFailedError(error);
  }
}
