import { batchTensors, stack, type Tensor, type TensorLike, type TensorType, unstack } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { float32, int64, tensor } from "./kit.ts";

const types: TensorType[] = [
  "float32",
  "float64",
  "float16",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "bool",
  "string",
];

test.each(types)("%s keeps its type, its kind of array and every bit", (type) => {
  const parts = [tensor(type, [1, 0]), tensor(type, [1])];
  const stacked = stack(parts);
  expect(stacked.type).toBe(type);
  expect(stacked.data.constructor).toBe(parts[0]?.data.constructor);
  expect(unstack(stacked)[0]).toEqual(parts[0]);
});

test("numbers beyond 53 bits, infinities, negative zero and NaN survive", () => {
  const large = { type: "int64" as const, data: BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n), dims: [2] };
  expect(stack([large, int64([1])]).data.slice(0, 2)).toEqual(large.data);
  const odd = float32([Number.NaN, -0, Number.NEGATIVE_INFINITY]);
  expect(stack([odd, float32([1])]).data.slice(0, 3)).toEqual(odd.data);
});

describe("float16", () => {
  test("takes a pad token as a number, where its bits are in a Uint16Array too", () => {
    const one = tensor("float16", [0x3c00]);
    const long = tensor("float16", [0, 0]);
    const bitsOf = (padToken: number): number | undefined => stack([one, long], { padToken }).data[1];
    expect([0, -0, 1, -2, 0.1, 65_504, 65_520, 1e9, 2 ** -24, 2 ** -25, 2 ** -26].map(bitsOf)).toEqual([
      0, 0x8000, 0x3c00, 0xc000, 0x2e66, 0x7bff, 0x7c00, 0x7c00, 1, 0, 0,
    ]);
    expect([Number.NEGATIVE_INFINITY, Number.NaN].map(bitsOf)).toEqual([0xfc00, 0x7e00]);
  });

  test("agrees with the platform's own numbers, where it has them", () => {
    const { Float16Array } = globalThis as unknown as { Float16Array?: typeof Float32Array };
    if (Float16Array === undefined) {
      // Node.js 22 and before.
      expect(Number(process.versions.node.split(".")[0])).toBeLessThan(24);
      return;
    }
    for (let step = 0; step < 3_000; step += 1) {
      const value = Math.fround((step % 2 === 0 ? 1 : -1) * 1.013 ** (step - 1_800));
      const expected = new Uint16Array(Float16Array.of(value).buffer)[0];
      expect([value, stack([tensor("float16", []), tensor("float16", [0])], { padToken: value }).data[0]]).toEqual([
        value,
        expected,
      ]);
    }
    const half = (values: number[]): TensorLike => ({
      type: "float16",
      data: Float16Array.from(values),
      dims: [values.length],
    });
    expect(stack([half([1.5]), half([2, 3])], { padToken: 0.5 })).toEqual({
      type: "float16",
      data: Float16Array.of(1.5, 0.5, 2, 3),
      dims: [2, 2],
    });
    expect(() => stack([half([1]), tensor("float16", [1])])).toThrow(
      /of class Float16Array as the first, got Uint16Array/,
    );
  });
});

describe("a pad token", () => {
  test("may be a number for int64 and a bigint for int32", () => {
    expect(stack([int64([1]), int64([])], { padToken: -100 }).data).toEqual(BigInt64Array.of(1n, -100n));
    expect(stack([tensor("int32", [1]), tensor("int32", [])], { padToken: 3n }).data).toEqual(Int32Array.of(1, 3));
    expect(stack([tensor("bool", [1]), tensor("bool", [])], { padToken: true }).data).toEqual(Uint8Array.of(1, 1));
    expect(stack([tensor("string", ["a"]), tensor("string", [])], { padToken: "-" }).data).toEqual(["a", "-"]);
  });

  test.each([
    ["int64", 0.5],
    ["int64", 2n ** 63n],
    ["uint8", -1],
    ["uint8", 256],
    ["uint64", -1],
    ["int32", Number.NaN],
    ["bool", 2],
    ["float32", "0"],
    ["string", 0],
  ] as const)("of %s may not be %s", (type, padToken) => {
    expect(() => stack([tensor(type, [1]), tensor(type, [])], { padToken })).toThrow(
      expect.objectContaining({
        code: "INVALID_OPTION",
        message: expect.stringContaining("Expected `padToken` to be") as string,
      }),
    );
  });
});

describe("a tensor", () => {
  test.each([
    [null, "Expected `tensors[0]` to be a tensor { type, data, dims }, got `null`"],
    [{ ...int64([1]), type: "int4" }, "`tensors[0].type` to be one of float32, float64, "],
    [{ ...int64([1]), data: [1] }, "`tensors[0].data` to be of class BigInt64Array for int64, got Array"],
    [
      { ...float32([1]), data: new Float64Array(1) },
      "`tensors[0].data` to be of class Float32Array for float32, got Float64Array",
    ],
    [{ ...int64([1]), dims: 1 }, "`tensors[0].dims` to be an array of integers >= 0, got `1` (number)"],
    [{ ...int64([1]), dims: [-1] }, "`tensors[0].dims` to be an array of integers >= 0"],
    [{ ...int64([1, 2]), dims: [3] }, "`tensors[0].data` to have 3 elements for dims [3], got 2"],
  ])("that is malformed is refused: %#", (given, message) => {
    expect(() => stack([given as never])).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) as string }),
    );
  });

  test("may hold a Buffer, and its copies are arrays of their own memory", () => {
    const given = { type: "uint8" as const, data: Buffer.from([1, 2]), dims: [2] };
    const stacked = stack([given, given]);
    expect(stacked.data).toEqual(Uint8Array.of(1, 2, 1, 2));
    expect(stacked.data.buffer.byteLength).toBe(4);
  });
});

describe("calls with other types", () => {
  test.each(["submit", "a function"])("do not meet calls with a key that reads like theirs, by %s", async (by) => {
    const keys: (string | undefined)[] = [];
    const key = ' with "ids" int32 Int32Array 2';
    const fn = batchTensors<Readonly<Record<string, Tensor>>, Tensor>(
      ({ ids }, context) => {
        keys.push(context.key);
        return ids as Tensor;
      },
      { clock: virtualClock(), ...(by !== "submit" && { key: ({ ids }) => (ids?.dims[1] === 2 ? key : "") }) },
    );
    const answers = [
      fn({ ids: int64([[1]]) }),
      fn({ ids: tensor("int32", [[2]]) }),
      fn({ ids: int64([[3, 3]]) }, by === "submit" ? { key } : {}),
    ];
    expect((await Promise.all(answers)).map(({ type }) => type)).toEqual(["int64", "int32", "int64"]);
    expect(keys).toEqual([by === "submit" ? undefined : "", key, `${key} with "ids" int64 BigInt64Array 2`]);
  });
});
