// Regroups chunks of any size into parts of one size. Holds one part in memory.

/** Yields parts of `bytes`; the last one is shorter. One empty part if there is no data. */
export async function* partsOf(chunks: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  let isFirst = true;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const piece = chunk.subarray(from, from + bytes - size);
      held.push(piece);
      size += piece.length;
      from += piece.length;
      if (size < bytes) continue;
      yield joined(held, size);
      held = [];
      size = 0;
      isFirst = false;
    }
  }
  if (size > 0 || isFirst) yield joined(held, size);
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
