// The law of this entry: after batching, padding, splitting over batches and joining again, each
// call gets the handler's result for its own rows. Over random types, ranks, sides, multiples,
// tokens, rows and batch sizes.

import { batchTensors, concat, stack, type Tensor, type TensorType, unstack } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lists, tensor } from "./kit.ts";

type Record0 = Readonly<Record<string, Tensor>>;

interface World {
  readonly type: TensorType;
  readonly padToken: number | string;
  readonly paddingSide: "left" | "right";
  readonly padToMultipleOf: number | readonly number[];
  readonly maxBatchSize: number;
  readonly parts: readonly Tensor[];
  readonly isList: boolean;
}

const types: readonly TensorType[] = [
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

/** A token that no row holds: those hold whole numbers from 1 to 100, a bool only 1. */
function tokenFor(type: TensorType, isZero: boolean): number | string {
  if (type === "string") return isZero ? "" : "pad";
  return isZero || type === "bool" ? 0 : 101;
}

/** The token as it stands in the data. */
function asElement({ type, padToken }: World): number | string {
  return type === "float16" && padToken === 101 ? 0x5650 : padToken;
}

const worlds: fc.Arbitrary<World> = fc
  .record({
    type: fc.constantFrom(...types),
    isZero: fc.boolean(),
    paddingSide: fc.constantFrom("left" as const, "right" as const),
    padToMultipleOf: fc.oneof(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    ),
    maxBatchSize: fc.integer({ min: 1, max: 7 }),
    rank: fc.integer({ min: 2, max: 4 }),
    shapes: fc.array(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 4, maxLength: 4 }), {
      minLength: 1,
      maxLength: 6,
    }),
    isList: fc.boolean(),
  })
  .map(({ type, isZero, rank, shapes, ...others }) => ({
    ...others,
    type,
    padToken: tokenFor(type, isZero),
    parts: shapes.map((shape, part) => {
      const dims = [Math.max(1, shape[0] as number), ...shape.slice(1, rank)];
      const size = dims.reduce((product, dim) => product * dim, 1);
      const values = Array.from({ length: size }, (_, index) =>
        type === "bool" ? 1 : ((part * 37 + index) % 100) + 1,
      );
      return tensor(type, values, dims);
    }),
  }));

/** A number of each row that depends on its own elements and their order, and not on padding. */
function fingerprints(world: World, given: Tensor): Tensor {
  const padding = asElement(world);
  const rows = (given.dims[0] as number) === 0 ? [] : unstack(given);
  return tensor(
    "float64",
    rows.map(({ data }) => {
      const own = Array.from(data as ArrayLike<unknown>, (value) =>
        typeof value === "bigint" ? Number(value) : value,
      );
      return own
        .filter((value) => value !== padding)
        .reduce<number>((sum, value, index) => sum + Number(value) * (index + 1), 0);
    }),
  );
}

/** The corner of each row that a part fills, as nested lists. */
function corner(whole: unknown, dims: readonly number[], side: "left" | "right"): unknown {
  if (dims.length === 0) return whole;
  const all = whole as unknown[];
  const [dim = 0, ...inner] = dims;
  const own = side === "left" ? all.slice(all.length - dim) : all.slice(0, dim);
  return own.map((element) => corner(element, inner, side));
}

test("each call gets the handler's results for its rows, whatever is batched with it", async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { parts, padToken, isList, type, ...options } = world;
      let most = 0;
      const fn = batchTensors<Record0>(
        ({ x }) => {
          const given = x as Tensor;
          expect(given.type).toBe(type);
          most = Math.max(most, given.dims[0] as number);
          const prints = fingerprints(world, given);
          return isList ? [given, prints] : { echo: given, prints };
        },
        { ...options, padTokens: { x: padToken }, clock: virtualClock() },
      );
      const answers = await Promise.all(parts.map((x) => fn({ x })));
      for (const [index, answer] of answers.entries()) {
        const part = parts[index] as Tensor;
        const [echo, prints] = Object.values(answer) as [Tensor, Tensor];
        expect(prints).toEqual(fingerprints(world, part));
        expect([echo.type, echo.data.constructor]).toEqual([part.type, part.data.constructor]);
        expect(corner(lists(echo), part.dims, options.paddingSide)).toEqual(lists(part));
      }
      expect(most).toBeLessThanOrEqual(options.maxBatchSize);
    }),
    { numRuns: 600 },
  );
});

test("stacked and unstacked, or put behind one another, every part is where it was, and all else is the token", () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const { parts, padToken, paddingSide, padToMultipleOf } = world;
      const options = { padToken, paddingSide, padToMultipleOf };
      const padding = asElement(world);
      const behind = concat(parts, options);
      expect(fingerprints(world, behind)).toEqual(concat(parts.map((part) => fingerprints(world, part))));
      const apart = unstack(stack(parts, options));
      for (const [index, part] of parts.entries()) {
        const whole = apart[index] as Tensor;
        expect(corner(lists(whole), part.dims, paddingSide)).toEqual(lists(part));
        const count = Array.from(whole.data as ArrayLike<unknown>, (value) =>
          typeof value === "bigint" ? Number(value) : value,
        );
        expect(count.filter((value) => value === padding)).toHaveLength(whole.data.length - part.data.length);
      }
      const multiples = [padToMultipleOf].flat();
      for (const [index, multiple] of multiples.entries()) expect((behind.dims[index + 1] ?? 0) % multiple).toBe(0);
    }),
    { numRuns: 600 },
  );
});
