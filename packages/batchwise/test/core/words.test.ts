// Messages of the most common errors, word by word.

import { batch, batched, batchStream, createBatcher, createTokenBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { reasonOf, rig, thrownBy } from "../support.ts";

const echo = (items: string[]): string[] => items;

describe("`list.map(fn)`, which passes the index as options", () => {
  const way = "`list.map(fn)` passes the index as options. Write `list.map((x) => fn(x))` or `fn.submitMany(list)`";
  const message = `Expected \`options\` to be an object, got \`0\` (number): ${way}`;

  test.each([
    ["batch", (list: string[]) => list.map(batch(echo) as never)],
    [
      "createTokenBatcher",
      (list: string[]) => list.map((x, index) => createTokenBatcher(echo).submit(x, index as never)),
    ],
    ["a batcher's submit", (list: string[]) => list.map((x, index) => createBatcher(echo).submit(x, index as never))],
    [
      "a batcher's submitMany",
      (list: string[]) => list.map((x, index) => createBatcher(echo).submitMany([x], index as never)),
    ],
  ])("rejects with the correct form: %s", async (_, map) => {
    const [first] = map(["a"]) as Promise<unknown>[];
    expect(await reasonOf(first as Promise<unknown>)).toMatchObject({ code: "INVALID_OPTION", message });
  });

  test("fails a stream with the correct form", async () => {
    const stream = batchStream(async function* (items: string[]) {
      yield items;
    });
    const [first] = ["a"].map(stream as never) as AsyncIterableIterator<string>[];
    expect(await reasonOf((first as AsyncIterableIterator<string>).next())).toMatchObject({ message });
  });
});

describe("a number in place of options", () => {
  const refused = "Expected `options` to be an object, got `32` (number)";

  test.each([
    ["batch", () => batch(echo, 32 as never)],
    ["createBatcher", () => createBatcher(echo, 32 as never)],
    ["createTokenBatcher", () => createTokenBatcher(echo, 32 as never)],
    ["batchStream", () => batchStream(() => [], 32 as never)],
    ["batched", () => batched(32 as never)],
  ])("is refused with the option that it may stand for by a maker of batchers: %s", (_, make) => {
    expect(thrownBy(make)).toMatchObject({
      code: "INVALID_OPTION",
      message: `${refused}: write \`{ maxBatchSize: 32 }\``,
    });
  });

  test("is refused with the correct form in place of `list.map(fn)` by a method of `batched`, which has no `submitMany`", async () => {
    class Encoder {
      async encode(items: string[], _?: object): Promise<string[]> {
        return items;
      }
    }
    const { prototype } = Encoder;
    const method = Object.getOwnPropertyDescriptor(prototype, "encode") as PropertyDescriptor;
    Object.defineProperty(prototype, "encode", (batched() as CallableFunction)(prototype, "encode", method));
    const answer = new Encoder().encode(["a"], 32 as never);
    const way = "`list.map(fn)` passes the index as options. Write `list.map((x) => fn(x))`";
    expect(await reasonOf(answer)).toMatchObject({ code: "INVALID_OPTION", message: `${refused}: ${way}` });
  });

  test("is refused in plain words where it is neither an index nor a size", async () => {
    expect(await reasonOf(createBatcher(echo).flush(32 as never))).toMatchObject({ message: refused });
  });
});

describe("a number in a message", () => {
  test("agrees with its noun where the handler's answer is wrong", async () => {
    const nothing = createBatcher(() => undefined as never);
    expect(String(await reasonOf(nothing.submit(1)))).toContain(
      "return an array of 1 result, one per item, got `undefined`",
    );
    const none = createBatcher(() => []);
    expect(String(await reasonOf(none.submit(1)))).toContain("return 1 result, one per item, got 0.");
    const hole = createBatcher(() => new Array<number>(1));
    expect(String(await reasonOf(hole.submit(1)))).toContain("return 1 result, one per item, got none at index 0.");
  });

  test.each([
    ["reject", "The queue is full: 1 item is waiting (maxQueueSize)."],
    ["drop-oldest", 'Dropped for a newer item: 1 item was waiting (maxQueueSize) and onFull is "drop-oldest".'],
  ] as const)("agrees with its noun where the queue is full: %s", async (onFull, message) => {
    const { batcher } = rig({ maxQueueSize: 1, onFull });
    batcher.pause();
    const answers = batcher.submitSettled(["a"]);
    const other = batcher.submitSettled(["b"]);
    const settled = await (onFull === "reject" ? other : answers);
    expect(settled).toMatchObject([{ reason: { message } }]);
  });

  test("agrees with its noun where a round of a stream is wrong", async () => {
    const stream = batchStream(async function* () {
      yield [];
    });
    expect(String(await reasonOf(stream("a").next()))).toContain("yield 1 place, one per item, got 0.");
  });
});

test("a value that is no array is named beside the expected one", async () => {
  const batcher = createBatcher(echo);
  const message = "Expected `items` to be an array, got `a` (string)";
  expect(await reasonOf(batcher.submitMany("a" as never))).toMatchObject({ code: "INVALID_OPTION", message });
  const stream = batchStream(() => []);
  expect(await reasonOf(stream.submitMany("a" as never))).toMatchObject({ code: "INVALID_OPTION", message });
});

test("an option that takes Infinity says so", () => {
  for (const name of ["maxBatchSize", "preferredBatchSize", "maxQueueSize", "concurrency"]) {
    const message = `Expected \`${name}\` to be an integer >= 1 or Infinity, got \`0\` (number)`;
    expect(thrownBy(() => createBatcher(echo, { [name]: 0 }))).toMatchObject({ name: "RangeError", message });
    if (name !== "preferredBatchSize") expect(() => createBatcher(echo, { [name]: Infinity })).not.toThrow();
  }
});
