import { describe, expect, test } from "vitest";
import { echoAll, reasonOf, rig } from "../support.ts";

interface Question {
  readonly model: string;
  readonly text: string;
}

/** Keyed by model; equal if the texts are. */
function models(cache: Map<string, string>) {
  const of = rig<Question, string>({ key: ({ model }) => model, dedupe: ({ text }) => text, cache });
  const answerAll = async (): Promise<void> => {
    await of.clock.settle();
    while (of.handler.open.length > 0) {
      for (const call of of.handler.open) call.answer(({ model, text }) => `${model} says ${text}`);
      await of.clock.settle();
    }
  };
  return { ...of, answerAll };
}

describe("a cache beside keys", () => {
  test("does not answer one key's item with another key's result, stored or in flight", async () => {
    const cache = new Map<string, string>();
    const { batcher, answerAll } = models(cache);
    const first = batcher.submit({ model: "A", text: "hi" });
    await answerAll();
    const other = batcher.submit({ model: "B", text: "hi" });
    await answerAll();
    expect([await first, await other]).toEqual(["A says hi", "B says hi"]);
    expect(await batcher.submit({ model: "A", text: "hi" })).toBe("A says hi");
    expect(await batcher.submit({ model: "B", text: "hi" })).toBe("B says hi");
    expect([...cache]).toEqual([
      ["1:A=hi", "A says hi"],
      ["1:B=hi", "B says hi"],
    ]);
    expect(batcher.stats()).toMatchObject({ cacheHits: 2, batches: 2 });
  });

  test("goes by the key of the submit where that gives one", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: (item) => item, cache });
    void of.batcher.submitMany(["a"], { key: "k" });
    void of.batcher.submit("a");
    void of.batcher.submit("a", { key: "" });
    await echoAll(of);
    expect([...cache.keys()].sort()).toEqual(["0:=a", "1:k=a", "a"]);
    expect(of.handler.batches).toHaveLength(3);
  });

  test("is not confused by keys that hold its own separators", async () => {
    const cache = new Map<string, string>();
    const { batcher, answerAll } = models(cache);
    const pairs = [
      { model: "a", text: "b=c" },
      { model: "a=b", text: "c" },
      { model: "1:a", text: "b" },
      { model: "", text: "1:a=b" },
      { model: "a=", text: "=b" },
      { model: "a==", text: "b" },
    ];
    const answers = batcher.submitMany(pairs);
    await answerAll();
    const expected = pairs.map(({ model, text }) => `${model} says ${text}`);
    expect(await answers).toEqual(expected);
    expect(await batcher.submitMany(pairs)).toEqual(expected);
    expect(cache.size).toBe(pairs.length);
  });

  test("forgets the result of one key and keeps the others'", async () => {
    const cache = new Map<string, string>();
    const { batcher, answerAll } = models(cache);
    const answers = batcher.submitMany([
      { model: "A", text: "hi" },
      { model: "B", text: "hi" },
    ]);
    await answerAll();
    await answers;
    await batcher.forget("hi", { key: "A" });
    expect([...cache.keys()]).toEqual(["1:B=hi"]);
    await batcher.forget("hi");
    expect([...cache.keys()]).toEqual(["1:B=hi"]);
    await batcher.forget("hi", { key: "B" });
    expect(cache.size).toBe(0);
  });

  test("is not called for an item whose key cannot be computed", async () => {
    const asked: string[] = [];
    const cache = { get: (key: string) => void asked.push(key), set: () => {} };
    const of = rig<string>({ key: (item) => (item === "odd" ? (5 as never) : item), dedupe: () => "same", cache });
    expect(await reasonOf(of.batcher.submit("odd"))).toMatchObject({ code: "INVALID_OPTION" });
    void of.batcher.submit("even");
    expect(asked).toEqual(["4:even=same"]);
  });
});
