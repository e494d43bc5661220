// Lines of a batch as bytes, many lines at once, because one write a line is slow.

const ENCODER = new TextEncoder();

/** Gives a chunk as soon as the lines held have `characters` or more; none for no lines. */
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
