// Joins a batch's lines to chunks of bytes, because one write per line is slow.

const ENCODER = new TextEncoder();

/** Yields a chunk once it has `characters` or more; none if there are no lines. */
export async function* chunksOf(
  lines: AsyncIterable<string>,
  characters = 65_536,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let [held, length]: [string[], number] = [[], 0];
  for await (const line of lines) {
    held.push(line);
    length += line.length;
    if (length < characters) continue;
    yield ENCODER.encode(held.join(""));
    [held, length] = [[], 0];
  }
  if (held.length > 0) yield ENCODER.encode(held.join(""));
}
