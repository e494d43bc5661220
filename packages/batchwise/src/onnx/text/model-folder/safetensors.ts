/**
 * Reads the tensors of a .safetensors file as float32: 8 bytes of header length, a JSON header, the
 * data.
 *
 * Guarantees: a file that is cut off or has another form is refused, and the error names its path.
 * float16 and bfloat16 are converted exactly.
 */

import { readFile } from "node:fs/promises";
import { isRecord } from "./json-file.ts";

export interface NamedTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

const LENGTH_BYTES = 8;

const READERS: Readonly<Record<string, { bytes: number; read(view: DataView, at: number): number }>> = {
  F32: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  F16: { bytes: 2, read: (view, at) => fromFloat16(view.getUint16(at, true)) },
  BF16: { bytes: 2, read: (view, at) => fromBfloat16(view, at) },
};

export async function readSafetensors(path: string): Promise<Map<string, NamedTensor>> {
  const file = await readFile(path);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const refuse = (what: string): Error => new Error(`Cannot read ${path}: ${what}`);
  if (file.length < LENGTH_BYTES) throw refuse("it is too short for a .safetensors file");
  const start = LENGTH_BYTES + Number(view.getBigUint64(0, true));
  if (start > file.length) throw refuse("its header is cut");
  let header: unknown;
  try {
    header = JSON.parse(file.toString("utf8", LENGTH_BYTES, start));
  } catch {
    throw refuse("its header is no JSON");
  }
  if (!isRecord(header)) throw refuse("its header is no JSON object");
  const tensors = new Map<string, NamedTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape, from } = entryOf(entry) ?? {};
    const reader = dtype !== undefined && Object.hasOwn(READERS, dtype) ? READERS[dtype] : undefined;
    if (reader === undefined || shape === undefined || from === undefined) {
      throw refuse(`\`${name}\` has ${dtype} numbers; expected F32, F16 or BF16`);
    }
    const count = shape.reduce((product, size) => product * size, 1);
    if (start + from + count * reader.bytes > file.length) throw refuse(`the numbers of \`${name}\` are cut`);
    const data = Float32Array.from({ length: count }, (_, index) =>
      reader.read(view, start + from + index * reader.bytes),
    );
    tensors.set(name, { shape, data });
  }
  return tensors;
}

function entryOf(entry: unknown): { dtype: string; shape: number[]; from: number } | undefined {
  if (!isRecord(entry) || typeof entry.dtype !== "string") return undefined;
  if (!Array.isArray(entry.shape) || !Array.isArray(entry.data_offsets)) return undefined;
  return { dtype: entry.dtype, shape: entry.shape.map(Number), from: Number(entry.data_offsets[0]) };
}

function fromFloat16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A bfloat16 is the upper half of a float32. */
function fromBfloat16(view: DataView, at: number): number {
  const whole = new DataView(new ArrayBuffer(4));
  whole.setUint16(0, view.getUint16(at, true));
  return whole.getFloat32(0);
}
