import { AsyncLocalStorage } from "node:async_hooks";
import { type BatchContext, batchStream, DONE, SKIP } from "batchwise";
import { describe, expect, test } from "vitest";
import { all, fateOf, read, streamRig } from "./support.ts";

/** Each word letter by letter. */
async function* spelled(words: string[]): AsyncGenerator<(string | typeof DONE)[]> {
  for (let index = 0; ; index += 1) yield words.map((word) => word[index] ?? DONE);
}

async function* twice(items: number[]): AsyncGenerator<number[]> {
  yield items;
  yield items;
}

describe("batchStream()", () => {
  test("gives every caller of a batch its own chunks, in order", async () => {
    const batches: string[][] = [];
    const spell = batchStream((words: string[]) => {
      batches.push(words);
      return spelled(words);
    });
    expect(await Promise.all(["abc", "d", ""].map((word) => all(spell(word))))).toEqual([["a", "b", "c"], ["d"], []]);
    expect(batches).toEqual([["abc", "d", ""]]);
  });

  test("submits at the call, not at the first read", async () => {
    const { stream, calls, clock } = streamRig();
    stream("a");
    await clock.settle();
    expect(calls).toHaveLength(1);
    expect(calls[0]?.asked).toBe(1);
  });

  test("ends every stream when the generator ends", async () => {
    const echo = batchStream(async function* (items: number[]) {
      yield items;
      yield items.map((item) => item * 10);
    });
    expect(await Promise.all([all(echo(1)), all(echo(2))])).toEqual([
      [1, 10],
      [2, 20],
    ]);
  });

  test("ends one caller at DONE while the others continue, and ignores its place from then on", async () => {
    const { stream, call, clock } = streamRig();
    const [a, b] = [read(stream("a")), read(stream("b"))];
    await clock.settle();
    call(0).yield(1, 2);
    await clock.settle();
    call(0).yield(DONE, 3);
    await clock.settle();
    expect(a).toEqual({ chunks: [1], state: "ended" });
    call(0).yield("not for a", 4);
    await clock.settle();
    call(0).yield(new Error("not for a"), DONE);
    await clock.settle();
    expect(a).toEqual({ chunks: [1], state: "ended" });
    expect(b).toEqual({ chunks: [2, 3, 4], state: "ended" });
  });

  test("counts a caller as completed at its DONE, before its batch ends", async () => {
    const { stream, call, clock } = streamRig();
    void [read(stream("a")), read(stream("b"))];
    await clock.settle();
    call(0).yield(DONE, SKIP);
    await clock.settle();
    expect(stream.stats()).toMatchObject({ completed: 1, batches: 1 });
    expect(stream.inspect()).toHaveLength(1);
  });

  test("gives a caller nothing in a round with SKIP", async () => {
    const { stream, call, clock } = streamRig();
    const [a, b] = [read(stream("a")), read(stream("b"))];
    await clock.settle();
    call(0).yield(SKIP, 1);
    await clock.settle();
    call(0).yield(2, SKIP);
    await clock.settle();
    call(0).finish();
    await clock.settle();
    expect([a.chunks, b.chunks]).toEqual([[2], [1]]);
  });

  test("fails only the caller in whose place an Error is, after its earlier chunks", async () => {
    const failure = new Error("no");
    const stream = batchStream(async function* (items: number[]) {
      yield items;
      yield items.map((item) => (item === 1 ? failure : item));
      yield items;
    });
    const [one, two] = await Promise.all([fateOf(stream(1)), fateOf(stream(2))]);
    expect(one).toEqual({ chunks: [1], error: failure });
    expect(one.error).toBe(failure);
    expect(two).toEqual({ chunks: [2, 2, 2] });
    expect(stream.stats()).toMatchObject({ completed: 1, failed: 1 });
  });

  test("takes rounds from a sync generator, an array and a promise of an async iterable", async () => {
    const sync = batchStream(function* (items: number[]) {
      yield items;
      yield items;
    });
    const array = batchStream((items: number[]) => [items, items]);
    const promised = batchStream(async (items: number[]) => twice(items));
    expect(await all(sync(1))).toEqual([1, 1]);
    expect(await all(array(2))).toEqual([2, 2]);
    expect(await all(promised(3))).toEqual([3, 3]);
  });

  test("stops the generator, and runs its finally, when the last caller has ended", async () => {
    let isCleanedUp = false;
    const stream = batchStream(async function* (items: number[]) {
      try {
        for (;;) yield items.map(() => DONE);
      } finally {
        isCleanedUp = true;
      }
    });
    await all(stream(1));
    await stream.flush();
    expect(isCleanedUp).toBe(true);
  });

  test("hands the handler the items, in an array of its own, and the batch's context", async () => {
    let seen: BatchContext | undefined;
    const stream = batchStream(
      async function* (items: { id: number }[], context) {
        seen = context;
        yield items.splice(0);
      },
      { key: ({ id }) => `k${id % 2}`, name: "words" },
    );
    const item = { id: 3 };
    expect((await all(stream(item, { context: "mine", priority: 2 })))[0]).toBe(item);
    expect(seen?.key).toBe("k1");
    expect(seen?.id).toMatch(/^words-/);
    expect(seen?.requests).toEqual([{ context: "mine", priority: 2, waitedMs: expect.any(Number) }]);
  });

  test("runs every round in the async context in which the stream function was made", async () => {
    const store = new AsyncLocalStorage<string>();
    const contexts: unknown[] = [];
    const stream = store.run("maker", () =>
      batchStream(
        async function* (items: number[], { requests }) {
          for (let round = 0; round < 3; round += 1) {
            contexts.push(store.getStore());
            yield items.map((_, index) => requests[index]?.context);
          }
        },
        { captureContext: () => store.getStore() },
      ),
    );
    expect(await store.run("caller", () => all(stream(1)))).toEqual(["caller", "caller", "caller"]);
    expect(contexts).toEqual(["maker", "maker", "maker"]);
  });
});

describe("a slot of a stream function", () => {
  test("is taken by one batch until its handler has stopped", async () => {
    const { stream, call, calls, clock } = streamRig({ maxBatchSize: 1 });
    const [a] = [read(stream("a")), read(stream("b"))];
    await clock.settle();
    expect(calls).toHaveLength(1);
    call(0).yield(1);
    await clock.settle();
    expect(calls).toHaveLength(1);
    call(0).yield(DONE);
    await clock.settle();
    expect(a.state).toBe("ended");
    expect(call(1).items).toEqual(["b"]);
  });

  test("is not free while the handler cleans up after its last caller", async () => {
    const calls: number[][] = [];
    let cleanedUp = (): void => {};
    const cleanUp = new Promise<void>((resolve) => {
      cleanedUp = resolve;
    });
    const { clock } = streamRig();
    const stream = batchStream(
      async function* (items: number[]) {
        calls.push(items);
        try {
          for (;;) yield items.map(() => DONE);
        } finally {
          await cleanUp;
        }
      },
      { clock, maxBatchSize: 1 },
    );
    const a = read(stream(1));
    const b = read(stream(2));
    await clock.settle();
    expect(a.state).toBe("ended");
    expect(calls).toEqual([[1]]);
    cleanedUp();
    await clock.settle();
    expect(calls).toEqual([[1], [2]]);
    expect(b.state).toBe("ended");
  });

  test("is one of `concurrency`", async () => {
    const { stream, calls, clock } = streamRig({ maxBatchSize: 1, concurrency: 2 });
    for (const item of ["a", "b", "c"]) read(stream(item));
    await clock.settle();
    expect(calls.map(({ items }) => items)).toEqual([["a"], ["b"]]);
  });
});
