// Prepares a value for another thread. Structured clone copies the whole buffer under a view: each
// of 32 rows that are views of one block would take the block with it, and a small Buffer the 8 KB
// from which it was cut. Here a view of a part of its buffer takes only its own bytes. Shared
// memory stays shared; nothing else of a value changes.

export interface Packed {
  readonly value: unknown;
  /** Buffers to transfer: copies made here, and the value's own if they are moved. */
  readonly transfer: ArrayBuffer[];
}

/**
 * Deep enough for a tensor in a record of tensors in a list of results. Deeper values are cloned
 * unchanged.
 */
const DEPTH = 4;
/** Below this, a second copy costs less than a transfer. */
const LEAST_TRANSFER_BYTES = 16_384;

/** `moves`: buffers that the value owns whole are transferred, and are empty here afterwards. */
export function pack(value: unknown, moves: boolean): Packed {
  if (typeof value !== "object" || value === null) return { value, transfer: NOTHING };
  const packer = new Packer(moves);
  return { value: packer.pack(value, DEPTH), transfer: packer.transfer };
}

const NOTHING: ArrayBuffer[] = [];

class Packer {
  readonly #buffers: Set<ArrayBuffer> = new Set();
  /** One copy per view, however often it occurs in the value. */
  readonly #cut: Map<ArrayBufferView, ArrayBufferView> = new Map();
  readonly #moves: boolean;

  constructor(moves: boolean) {
    this.#moves = moves;
  }

  get transfer(): ArrayBuffer[] {
    return [...this.#buffers];
  }

  pack(value: unknown, depth: number): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (ArrayBuffer.isView(value)) return this.#packView(value);
    if (value instanceof ArrayBuffer) this.#move(value);
    if (depth === 0) return value;
    if (Array.isArray(value)) return this.#packList(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return value;
    return this.#packRecord(value as Record<string, unknown>, depth);
  }

  #packList(list: readonly unknown[], depth: number): unknown {
    let copy: unknown[] | undefined;
    for (let at = 0; at < list.length; at += 1) {
      const value = list[at];
      if (typeof value !== "object") continue;
      const packed = this.pack(value, depth - 1);
      if (packed === value) continue;
      copy ??= list.slice();
      copy[at] = packed;
    }
    return copy ?? list;
  }

  #packRecord(record: Record<string, unknown>, depth: number): unknown {
    let copy: Record<string, unknown> | undefined;
    for (const key in record) {
      const value = record[key];
      if (typeof value !== "object") continue;
      const packed = this.pack(value, depth - 1);
      if (packed === value) continue;
      copy ??= { ...record };
      copy[key] = packed;
    }
    return copy ?? record;
  }

  #packView(view: ArrayBufferView): ArrayBufferView {
    const { buffer, byteOffset, byteLength } = view;
    if (!(buffer instanceof ArrayBuffer)) return view;
    if (byteLength === buffer.byteLength) {
      this.#move(buffer);
      return view;
    }
    const known = this.#cut.get(view);
    if (known !== undefined) return known;
    const bytes = buffer.slice(byteOffset, byteOffset + byteLength);
    if (byteLength >= LEAST_TRANSFER_BYTES) this.#buffers.add(bytes);
    // A Buffer arrives as a Uint8Array anyway, and its own constructor is deprecated.
    const Kind = view instanceof Uint8Array ? Uint8Array : (view.constructor as new (of: ArrayBuffer) => DataView);
    const cut = new Kind(bytes);
    this.#cut.set(view, cut);
    return cut;
  }

  #move(buffer: ArrayBuffer): void {
    if (this.#moves) this.#buffers.add(buffer);
  }
}

/**
 * Posts a message. If a buffer cannot be transferred (WebAssembly's memory, or one transferred
 * before), clones everything instead. Throws if the message cannot be cloned either.
 */
export function post(port: Poster, message: unknown, transfer: readonly ArrayBuffer[]): void {
  if (transfer.length > 0) {
    try {
      port.postMessage(message, transfer);
      return;
    } catch {
      // Nothing has been transferred; cloned below.
    }
  }
  port.postMessage(message);
}

interface Poster {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
}
