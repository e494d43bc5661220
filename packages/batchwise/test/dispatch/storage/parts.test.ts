import { expect, test } from "vitest";
import { partsOf } from "../../../src/dispatch/storage/parts.ts";

async function split(lengths: readonly number[], bytes: number): Promise<number[][]> {
  let next = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const length of lengths) yield Uint8Array.from({ length }, () => next++);
  }
  const parts: number[][] = [];
  for await (const part of partsOf(chunks(), bytes)) parts.push([...part]);
  return parts;
}

test.each([
  [[], [[]]],
  [[0, 0], [[]]],
  [[2], [[0, 1]]],
  [[3], [[0, 1, 2]]],
  [
    [1, 1, 1, 1],
    [[0, 1, 2], [3]],
  ],
  [[7], [[0, 1, 2], [3, 4, 5], [6]]],
  [
    [2, 0, 2, 2],
    [
      [0, 1, 2],
      [3, 4, 5],
    ],
  ],
])("chunks of %j bytes are parts of three", async (lengths, parts) => {
  expect(await split(lengths, 3)).toEqual(parts);
});

test("a part is made before the chunk after it is read", async () => {
  let asked = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      asked += 1;
      yield new Uint8Array(4);
    }
  }
  const parts = partsOf(chunks(), 4);
  await parts.next();
  expect(asked).toBe(1);
  await parts.return(undefined);
});
