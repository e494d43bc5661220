import { expect, test } from "vitest";
import { pack } from "../../src/threads/pack.ts";
import { computingMs } from "../support.ts";

test("a part of a buffer that stands in many items goes once, and is one object over there", () => {
  const weights = new Float32Array(new ArrayBuffer(400_000), 4, 50_000).fill(3);
  const { value, transfer } = pack(
    Array.from({ length: 32 }, (_, item) => ({ item, weights })),
    false,
  );
  expect(transfer.map(({ byteLength }) => byteLength)).toEqual([200_000]);
  const items = structuredClone(value, { transfer }) as { weights: Float32Array }[];
  expect(new Set(items.map((each) => each.weights)).size).toBe(1);
  expect(items[31]?.weights[49_999]).toBe(3);
});

test("a buffer that moves is named once", () => {
  const vector = new Float32Array(4);
  expect(pack([vector, { vector }, vector.buffer], true).transfer).toEqual([vector.buffer]);
});

test("a hundred thousand buffers that move take time in proportion", () => {
  const fastest = (count: number): number => {
    const items = Array.from({ length: count }, () => new Uint8Array(1));
    const times = Array.from({ length: 3 }, () =>
      computingMs(() => expect(pack(items, true).transfer).toHaveLength(count)),
    );
    return Math.min(...times);
  };
  // Twenty times as many take some twenty times as long, or 400 times if work is quadratic.
  expect(fastest(100_000)).toBeLessThan(200 * Math.max(1, fastest(5_000)));
});
