// Converts a batch of tensors to a session's feeds: checks them against the model's inputs and
// gives them a form that every runtime accepts.
//
// onnxruntime-node and onnxruntime-web take any object with `type`, `data`, `dims` and
// `location: "cpu"`. onnxruntime-react-native reads `cpuData` from the start of its buffer. So an
// object with all of these works in each, unless its data is a view into something larger.

import type { TensorForm } from "../tensor/batch-input.ts";
import type { TensorLike } from "../tensor/types.ts";
import { modelInputError } from "./errors.ts";
import type { OnnxSession, OnnxTensorClass, OnnxValueInfo } from "./session.ts";

type Forms = Readonly<Record<string, TensorForm>>;

/** The inputs of a model. */
export type ModelInputs = Pick<OnnxSession, "inputNames" | "inputMetadata">;

/** Throws MODEL_INPUT if a call's features cannot be the model's inputs in any batch. */
export function checkCall(inputs: ModelInputs, features: Forms): void {
  checkNames(inputs, features);
  for (const info of infosOf(inputs)) checkInput(anyRows(info), features[info.name] as TensorForm);
}

/** Throws MODEL_INPUT if a batch's features are not the model's inputs. */
export function checkInputs(inputs: ModelInputs, features: Forms): void {
  checkNames(inputs, features);
  for (const info of infosOf(inputs)) checkInput(info, features[info.name] as TensorForm);
}

function infosOf({ inputNames, inputMetadata }: ModelInputs): Info[] {
  return inputNames.map((name) => inputMetadata?.find((info) => info.name === name) ?? { name });
}

/** The same input with a free first dimension: a call's rows may be a part of a batch. */
function anyRows(info: Info): Info {
  const { shape } = info;
  return shape === undefined ? info : { ...info, shape: ["batch", ...shape.slice(1)] };
}

function checkNames(inputs: ModelInputs, features: Forms): void {
  if (Array.isArray(features)) {
    throw modelInputError(
      "A model takes a record of padded tensors, got a list. Give it to `batchTensors`, not to `batch`",
    );
  }
  const { inputNames } = inputs;
  const infos = infosOf(inputs);
  const given = Object.keys(features);
  for (const name of inputNames) {
    if (features[name] === undefined) {
      throw modelInputError(`The model's input \`${name}\` is missing. ${expectation(infos, given)}`);
    }
  }
  for (const name of given) {
    if (!inputNames.includes(name)) {
      throw modelInputError(`The model has no input \`${name}\`. ${expectation(infos, given)}`);
    }
  }
}

type Info = Pick<OnnxValueInfo, "name"> & Partial<OnnxValueInfo>;

function expectation(infos: readonly Info[], given: readonly string[]): string {
  return `It takes ${infos.map(textOf).join(", ")}; got ${given.join(", ") || "none"}`;
}

/** For example `input_ids (int64 [batch, sequence])`. */
function textOf({ name, type, shape }: Info): string {
  return type === undefined || shape === undefined ? name : `${name} (${type} [${shape.join(", ")}])`;
}

function checkInput(info: Info, { type, dims }: TensorForm): void {
  const { name, shape } = info;
  if (info.type !== undefined && info.type !== type) {
    throw modelInputError(`Expected \`${name}\` to be of type ${info.type}, as the model has it, got ${type}`);
  }
  if (shape === undefined) return;
  const fits = shape.length === dims.length && shape.every((dim, at) => typeof dim !== "number" || dim === dims[at]);
  if (fits) return;
  const hint =
    typeof shape[0] === "number" && shape[0] !== dims[0]
      ? `. The model was exported for batches of exactly ${shape[0]}: export it with a dynamic first axis${shape[0] === 1 ? ", or set `maxBatchSize: 1`" : ""}`
      : "";
  throw modelInputError(
    `Expected \`${name}\` to have dims [${shape.join(", ")}], as the model has them, got [${dims.join(", ")}]${hint}`,
  );
}

/**
 * A tensor in the form that a session takes. `Tensor`: the runtime's own class, for a runtime that
 * accepts only its instances.
 */
export function feedOf({ type, data, dims }: TensorLike, Tensor: OnnxTensorClass | undefined): never {
  const own = ownData(type, data);
  if (Tensor !== undefined) return new Tensor(type as never, own as never, dims) as never;
  return { type, data: own, cpuData: own, dims, location: "cpu", size: own.length } as never;
}

/** The data in its own buffer. float16 stays as bits in a Uint16Array, which all runtimes take. */
function ownData(type: string, data: ArrayLike<unknown>): ArrayLike<unknown> {
  if (!ArrayBuffer.isView(data)) return data;
  const whole = data.byteLength === data.buffer.byteLength ? data : (data as unknown as Uint8Array).slice();
  if (type !== "float16" || whole instanceof Uint16Array) return whole as unknown as ArrayLike<unknown>;
  return new Uint16Array(whole.buffer, whole.byteOffset, whole.byteLength / 2);
}
