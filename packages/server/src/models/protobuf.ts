/**
 * A writer of protocol buffer messages: only the four wire types that an ONNX file needs.
 *
 * Guarantees: fields appear in the order of the calls, so equal calls give equal bytes. Does not
 * read messages, and knows nothing about ONNX.
 */

const WIRE_VARINT = 0;
const WIRE_LENGTH_DELIMITED = 2;
const WIRE_FIXED32 = 5;

const utf8 = new TextEncoder();

export class ProtobufMessage {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** A non-negative integer (int32, int64, enum). */
  integer(field: number, value: number): this {
    this.#tag(field, WIRE_VARINT);
    return this.#varint(value);
  }

  float(field: number, value: number): this {
    this.#tag(field, WIRE_FIXED32);
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#append(bytes);
  }

  text(field: number, value: string): this {
    return this.bytes(field, utf8.encode(value));
  }

  /** Keeps a reference to `value`: weights are copied once, in `finish`. */
  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, WIRE_LENGTH_DELIMITED);
    this.#varint(value.length);
    return this.#append(value);
  }

  message(field: number, value: ProtobufMessage): this {
    this.#tag(field, WIRE_LENGTH_DELIMITED);
    this.#varint(value.length);
    return this.append(value);
  }

  /** Adds the fields of another message to this one. */
  append(value: ProtobufMessage): this {
    for (const chunk of value.#chunks) this.#append(chunk);
    return this;
  }

  finish(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let offset = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, offset);
      offset += chunk.length;
    }
    return bytes;
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType);
  }

  #varint(value: number): this {
    const bytes: number[] = [];
    let rest = value;
    // Division instead of shifts: a length may exceed 31 bits.
    while (rest >= 128) {
      bytes.push((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    bytes.push(rest);
    return this.#append(Uint8Array.from(bytes));
  }

  #append(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    return this;
  }
}
