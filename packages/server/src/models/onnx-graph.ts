/**
 * Builds the bytes of an ONNX file: nodes, weights, inputs and outputs of one graph (opset 17, IR
 * version 8).
 *
 * Guarantees: the same calls give the same bytes. Does not check the graph; the runtime does when
 * it loads the file.
 */

import { ProtobufMessage } from "./protobuf.ts";

const IR_VERSION = 8;
const OPSET_VERSION = 17;

/** Values of `TensorProto.DataType`. */
const ELEMENT_TYPE = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
} as const;

/** Values of `AttributeProto.AttributeType`. */
const ATTRIBUTE_TYPE = { float: 1, integer: 2, integers: 7 } as const;

export type ElementType = keyof typeof ELEMENT_TYPE;

/** A number of fixed size, or a name for a size that each call chooses. */
export type Dimension = number | string;

type AttributeValue =
  | { readonly float: number }
  | { readonly integer: number }
  | { readonly integers: readonly number[] };

export type Attributes = Readonly<Record<string, AttributeValue>>;

export class OnnxGraph {
  readonly #graph: ProtobufMessage = new ProtobufMessage();
  readonly #values: ProtobufMessage = new ProtobufMessage();
  #nextName = 0;

  /** Adds an operation with one output and returns that output's name. */
  node(operation: string, inputs: readonly string[], attributes: Attributes = {}, output?: string): string {
    const name = output ?? this.#freshName(operation);
    this.#node(operation, inputs, [name], attributes);
    return name;
  }

  /** Adds an operation with three outputs and returns their names. */
  nodeOfThree(operation: string, inputs: readonly string[]): [string, string, string] {
    const names: [string, string, string] = [
      this.#freshName(operation),
      this.#freshName(operation),
      this.#freshName(operation),
    ];
    this.#node(operation, inputs, names, {});
    return names;
  }

  /** Adds a float32 tensor of weights and returns its name. */
  weights(data: Float32Array, dims: readonly number[]): string {
    return this.#tensor("float32", new Uint8Array(data.buffer, data.byteOffset, data.byteLength), dims);
  }

  /** Adds a uint8 tensor, the type of quantised weights, and returns its name. */
  bytes(data: Uint8Array, dims: readonly number[]): string {
    return this.#tensor("uint8", data, dims);
  }

  /** Adds a list of int64 numbers, the type of axes and shapes. */
  integers(values: readonly number[]): string {
    const data = BigInt64Array.from(values, BigInt);
    return this.#tensor("int64", new Uint8Array(data.buffer), [values.length]);
  }

  input(name: string, type: ElementType, dims: readonly Dimension[]): string {
    this.#values.message(11, valueInfo(name, type, dims));
    return name;
  }

  output(name: string, type: ElementType, dims: readonly Dimension[]): void {
    this.#values.message(12, valueInfo(name, type, dims));
  }

  /** The file's bytes. */
  finish(name: string, description: string): Uint8Array {
    const graph = new ProtobufMessage();
    for (const part of [this.#graph, this.#values]) graph.append(part);
    graph.text(2, name).text(10, description);
    return new ProtobufMessage()
      .integer(1, IR_VERSION)
      .text(2, "batchwise")
      .message(7, graph)
      .message(8, new ProtobufMessage().text(1, "").integer(2, OPSET_VERSION))
      .finish();
  }

  #node(operation: string, inputs: readonly string[], outputs: readonly string[], attributes: Attributes): void {
    const node = new ProtobufMessage();
    for (const input of inputs) node.text(1, input);
    for (const output of outputs) node.text(2, output);
    node.text(3, `${operation}/${outputs[0]}`).text(4, operation);
    for (const [key, value] of Object.entries(attributes)) node.message(5, attribute(key, value));
    this.#graph.message(1, node);
  }

  #tensor(type: ElementType, raw: Uint8Array, dims: readonly number[]): string {
    const name = this.#freshName(type);
    const tensor = new ProtobufMessage();
    for (const dim of dims) tensor.integer(1, dim);
    tensor.integer(2, ELEMENT_TYPE[type]).text(8, name).bytes(9, raw);
    this.#graph.message(5, tensor);
    return name;
  }

  #freshName(prefix: string): string {
    this.#nextName += 1;
    return `${prefix.toLowerCase()}_${this.#nextName}`;
  }
}

function attribute(name: string, value: AttributeValue): ProtobufMessage {
  const message = new ProtobufMessage().text(1, name);
  if ("float" in value) return message.float(2, value.float).integer(20, ATTRIBUTE_TYPE.float);
  if ("integer" in value) return message.integer(3, value.integer).integer(20, ATTRIBUTE_TYPE.integer);
  for (const item of value.integers) message.integer(8, item);
  return message.integer(20, ATTRIBUTE_TYPE.integers);
}

function valueInfo(name: string, type: ElementType, dims: readonly Dimension[]): ProtobufMessage {
  const shape = new ProtobufMessage();
  for (const dim of dims) {
    const dimension = new ProtobufMessage();
    if (typeof dim === "number") dimension.integer(1, dim);
    else dimension.text(2, dim);
    shape.message(1, dimension);
  }
  const tensor = new ProtobufMessage().integer(1, ELEMENT_TYPE[type]).message(2, shape);
  return new ProtobufMessage().text(1, name).message(2, new ProtobufMessage().message(1, tensor));
}
