import { concat, pad, stack, unstack } from "batchwise/tensor";
import { describe, expect, test } from "vitest";
import { float32, int64, lists, tensor } from "./kit.ts";

const invalid = (message: string | RegExp): object =>
  expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) as string });

describe("stack", () => {
  test("puts tensors on top of one another, each padded to the longest on the right", () => {
    const stacked = stack([int64([1, 2, 3]), int64([4, 5]), int64([6, 7, 8, 9])]);
    expect(stacked).toEqual(
      int64([
        [1, 2, 3, 0],
        [4, 5, 0, 0],
        [6, 7, 8, 9],
      ]),
    );
  });

  test("pads on the left, with a token, to a multiple", () => {
    const stacked = stack([int64([1, 2, 3]), int64([4])], { padToken: 7, paddingSide: "left", padToMultipleOf: 4 });
    expect(lists(stacked)).toEqual([
      [7, 1, 2, 3],
      [7, 7, 7, 4],
    ]);
  });

  test.each(["right", "left"] as const)("pads every dimension on the %s", (paddingSide) => {
    const parts = [float32([[1, 2]]), float32([[3], [4]])];
    expect(lists(stack(parts, { padToken: 9, paddingSide }))).toEqual(
      paddingSide === "right"
        ? [
            [
              [1, 2],
              [9, 9],
            ],
            [
              [3, 9],
              [4, 9],
            ],
          ]
        : [
            [
              [9, 9],
              [1, 2],
            ],
            [
              [9, 3],
              [9, 4],
            ],
          ],
    );
  });

  test("takes a multiple for each dimension, and one of 1 does not change it", () => {
    const image = float32(new Array(12).fill(1), [3, 2, 2]);
    expect(stack([image], { padToMultipleOf: [1, 1, 32] }).dims).toEqual([1, 3, 2, 32]);
    expect(stack([image], { padToMultipleOf: 4 }).dims).toEqual([1, 4, 2, 2]);
  });

  test("of scalars is a list, and of empty tensors an empty one", () => {
    expect(stack([float32(1), float32(2)])).toEqual(float32([1, 2]));
    expect(stack([float32([]), float32([])])).toEqual(float32([[], []]));
    expect(lists(stack([int64([]), int64([1])], { padToken: 5 }))).toEqual([[5], [1]]);
  });

  test("refuses values that cannot stand in one tensor, with the expected and the actual one", () => {
    expect(() => stack([])).toThrow(invalid("Expected `tensors` to have at least one tensor, got none"));
    expect(() => stack(undefined as never)).toThrow(invalid("Expected `tensors` to be an array of tensors"));
    expect(() => stack([int64([1]), tensor("int32", [1])] as never[])).toThrow(
      invalid(/`tensors\[1\].type` to be int64 as the first, got int32/),
    );
    expect(() => stack([int64([1]), int64([[1]])])).toThrow(invalid(/of rank 1 as the first, got \[1, 1\]/));
    expect(() => stack([int64([1])], { paddingSide: "top" as never })).toThrow(invalid('"right" or "left"'));
    expect(() => stack([int64([1])], { padToMultipleOf: 0 })).toThrow(invalid("an integer >= 1"));
  });

  test("32 rows of 64 int64 take no longer than a loop over their numbers would, eight times over", () => {
    const rows = Array.from({ length: 32 }, (_, row) => int64(Array.from({ length: 64 - (row % 8) }, (__, i) => i)));
    const fastest = (work: () => unknown): number => {
      const times = Array.from({ length: 400 }, () => {
        const from = performance.now();
        work();
        return performance.now() - from;
      });
      return Math.min(...times);
    };
    const byLoop = fastest(() => {
      const whole = new BigInt64Array(32 * 64);
      for (const [row, { data }] of rows.entries()) {
        for (let place = 0; place < 64; place += 1) whole[row * 64 + place] = (data[place] as bigint | undefined) ?? 1n;
      }
      return whole;
    });
    const stacked = fastest(() => stack(rows, { padToken: 1 }));
    expect(stacked).toBeLessThan(8 * byLoop);
  });
});

describe("unstack", () => {
  test("is the reverse, over the same memory", () => {
    const whole = float32([
      [1, 2],
      [3, 4],
    ]);
    const parts = unstack(whole);
    expect(parts).toEqual([float32([1, 2]), float32([3, 4])]);
    expect(parts.map(({ data }) => data.buffer === whole.data.buffer)).toEqual([true, true]);
    expect(stack(parts)).toEqual(whole);
  });

  test("of a list is scalars, of strings a copy, of no rows nothing", () => {
    expect(unstack(float32([1, 2]))).toEqual([float32(1), float32(2)]);
    expect(unstack(tensor("string", [["a"], ["b"]]))).toEqual([tensor("string", ["a"]), tensor("string", ["b"])]);
    expect(unstack(float32([], [0, 4]))).toEqual([]);
    expect(() => unstack(float32(1))).toThrow(invalid("`tensor.dims` to be of rank 1 or more, got \\[\\]"));
  });
});

describe("concat", () => {
  test("puts rows behind one another, the shorter ones padded", () => {
    const joined = concat([int64([[1, 2]]), int64([[3], [4]])], { padToken: -1 });
    expect(lists(joined)).toEqual([
      [1, 2],
      [3, -1],
      [4, -1],
    ]);
    expect(concat([float32([1]), float32([2, 3])])).toEqual(float32([1, 2, 3]));
    expect(() => concat([float32(1)])).toThrow(invalid("of rank 1 or more"));
  });
});

describe("pad", () => {
  test("makes a tensor as large as is said", () => {
    expect(lists(pad(int64([1, 2]), [4], { padToken: 7, paddingSide: "left" }))).toEqual([7, 7, 1, 2]);
    expect(lists(pad(float32([[1]]), [2, 2], { padToken: 5 }))).toEqual([
      [1, 5],
      [5, 5],
    ]);
  });

  test("shares the memory of one that is as large", () => {
    const given = int64([1, 2]);
    expect(pad(given, [2]).data).toBe(given.data);
  });

  test("refuses to make it smaller or of another rank", () => {
    expect(() => pad(int64([1, 2]), [1])).toThrow(invalid(/integers of at least \[2\], got \[1\]/));
    expect(() => pad(int64([1, 2]), [2, 2])).toThrow(invalid(/integers of at least \[2\], got \[2, 2\]/));
    expect(() => pad(int64([1, 2]), [2.5])).toThrow(invalid(/got \[2.5\]/));
  });
});
