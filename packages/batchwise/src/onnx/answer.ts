// Converts a session's outputs to plain tensors that are the same from every runtime. float16 is
// its bits in a Uint16Array (some runtimes give a Float16Array), bool is a Uint8Array (some give an
// Int8Array).

import type { Tensor } from "../tensor/types.ts";

/** The members of a runtime's tensor that are used. `getData` copies data from another device. */
interface RuntimeTensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
  readonly location?: string;
  getData?(releaseData?: boolean): Promise<unknown>;
}

export async function plainTensor(given: unknown): Promise<Tensor> {
  const tensor = given as RuntimeTensor;
  const { type, dims, location = "cpu" } = tensor;
  const isHere = location === "cpu" || location === "cpu-pinned" || tensor.getData === undefined;
  const data = isHere ? tensor.data : await tensor.getData?.(true);
  return { type, data: plainData(type, data), dims: [...dims] } as Tensor;
}

function plainData(type: string, data: unknown): unknown {
  const Kind = type === "float16" ? Uint16Array : type === "bool" ? Uint8Array : undefined;
  if (Kind === undefined || !ArrayBuffer.isView(data) || data instanceof Kind) return data;
  return new Kind(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength / Kind.BYTES_PER_ELEMENT);
}
