import { type BatchOptions, batch, batchStream, createBatcher, createTokenBatcher } from "batchwise";
import { batchTensors, type Tensor } from "batchwise/tensor";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";

async function embed(texts: string[]): Promise<number[]> {
  return texts.map(({ length }) => length);
}

describe("the name of a batcher", () => {
  test("is its handler's where none is given, and that of the function that batch() returns", () => {
    expect(batch(embed).name).toBe("embed");
    expect([createBatcher(embed), createTokenBatcher(embed), batch(embed)].map(({ options }) => options.name)).toEqual([
      "embed",
      "embed",
      "embed",
    ]);
    expect(createBatcher(embed.bind(null), { maxBatchSize: 2 }).options.name).toBe("embed");
    expect(batch(embed, { name: "mine" }).name).toBe("mine");
  });

  test("is the handler's of streams and tensors too", () => {
    async function* spell(words: string[]): AsyncGenerator<string[]> {
      yield words;
    }
    const score = async ({ ids }: { ids: Tensor }): Promise<Tensor> => ids;
    for (const fn of [batchStream(spell), batchTensors(score)])
      expect([fn.name, fn.options.name]).toEqual([fn.name, fn.name]);
    expect([batchStream(spell).name, batchTensors(score).name]).toEqual(["spell", "score"]);
  });

  test.each<[string, unknown]>([
    ["an arrow function in place", { run: (texts: string[]) => texts }],
    ["a function without a name", Object.defineProperty(async (texts: string[]) => texts, "name", { value: "" })],
    ["a function whose name is no text", Object.defineProperty(async (texts: string[]) => texts, "name", { value: 5 })],
  ])('is "batch" of %s', (_what, handler) => {
    expect(createBatcher(handler as typeof embed).options.name).toBe("batch");
  });

  test("begins the ids of its batches; messages begin with a name that was given", async () => {
    const batcher = createBatcher(embed);
    const ids: string[] = [];
    batcher.on("batch", ({ id }) => void ids.push(id));
    await batcher.submit("one");
    expect(ids[0]).toMatch(/^embed-/);
    await batcher.close();
    expect(String(await reasonOf(batcher.submit("two")))).toBe("BatchwiseError: The batcher is closed.");
  });
});

describe("a method that is taken off its batcher", () => {
  const options: BatchOptions<string, number> = { maxBatchSize: 2 };
  const makers = [
    () => createBatcher(embed, options),
    () => createTokenBatcher(embed, options),
    () => batch(embed, options),
  ];

  test.each(makers)("works: submit, submitMany, submitSettled, map (%#)", async (make) => {
    const { submit, submitMany, submitSettled, map } = make();
    expect(await submit("four")).toBe(4);
    expect(await submitMany(["a", "bb"])).toEqual([1, 2]);
    expect(await submitSettled(["ccc"])).toEqual([{ status: "fulfilled", value: 3 }]);
    expect(await map(["dd"]).next()).toEqual({ done: false, value: 2 });
  });

  test("is bound once: it is the same each time, and each batcher has its own", () => {
    const [one, two] = [createBatcher(embed), createBatcher(embed)];
    expect(one.submit).toBe(one.submit);
    expect(one.submit).not.toBe(two.submit);
  });

  test.each(makers)("rejects the index that `list.map(submit)` passes as its options (%#)", async (make) => {
    const { submit } = make();
    const reasons = await Promise.all(["a", "b"].map(submit as never).map(reasonOf as never));
    for (const reason of reasons) expect(reason).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
    expect(String(reasons[0])).toContain("list.map");
  });
});
