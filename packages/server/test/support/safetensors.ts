/** The bytes of a .safetensors file with float32 numbers. */
export function safetensors(
  tensors: Readonly<Record<string, { shape: number[]; data: readonly number[] }>>,
): Uint8Array {
  const header: Record<string, unknown> = {};
  const numbers: number[] = [];
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    const from = numbers.length * 4;
    numbers.push(...data);
    header[name] = { dtype: "F32", shape, data_offsets: [from, numbers.length * 4] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.from(Float32Array.from(numbers).buffer)]);
}
