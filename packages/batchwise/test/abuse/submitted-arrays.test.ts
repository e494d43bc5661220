import { type Batcher, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echoAll, range, rig } from "../support.ts";
import { revoked, trapped } from "./objects.ts";

const failure = new Error("half-way");

/** Three items. Reading the second one first calls `act`. */
function reading(act: (items: number[]) => void): number[] {
  const items = [1, 2, 3];
  return Object.defineProperty(items, 1, {
    get: () => {
      act(items);
      return 2;
    },
    configurable: true,
    enumerable: true,
  });
}

const shrink = (items: number[]): void => {
  items.length = 1;
};

const grow = (items: number[]): void => void items.push(4, 5);

const throws = (): never => {
  throw failure;
};

/** Arrays with an unreadable item: none of their items may be accepted. */
const unreadable: Readonly<Record<string, () => number[]>> = {
  "a getter that throws": () => reading(throws),
  "a Proxy that throws when it is read": () => trapped("get", [1, 2, 3]) as number[],
  "a Proxy that throws at the last item": () =>
    new Proxy([1, 2, 3], { get: (target, key) => (key === "2" ? throws() : Reflect.get(target, key)) }),
  "a revoked Proxy": () => revoked([1, 2, 3]) as number[],
  "a Proxy that is revoked while it is read": () => {
    const { proxy, revoke } = Proxy.revocable(
      reading(() => revoke()),
      {},
    );
    return proxy;
  },
  "a Proxy whose length is no number": () =>
    new Proxy([1, 2, 3], { get: (target, key) => (key === "length" ? Number.NaN : Reflect.get(target, key)) }),
  "a Proxy whose length is negative": () =>
    new Proxy([1, 2, 3], { get: (target, key) => (key === "length" ? -1 : Reflect.get(target, key)) }),
};

describe.each(["submitMany", "submitSettled"] as const)("%s", (method) => {
  const call = (batcher: Batcher<number, number>, items: readonly number[]): Promise<unknown> => batcher[method](items);

  test.each(Object.keys(unreadable))(
    "rejects, accepts no item and gives no caller a wrong result: %s",
    async (name) => {
      for (const options of [{}, { key: () => "k" }, { dedupe: String }, { smallCallFirst: 5 }]) {
        const of = rig<number>(options);
        const before = of.batcher.submitMany(range(5));
        const items = (unreadable[name] as () => number[])();
        let made: Promise<unknown> | undefined;
        expect(() => {
          made = call(of.batcher, items);
        }).not.toThrow();
        await expect(made).rejects.toBeInstanceOf(Error);
        const after = of.batcher.submitMany(range(5).map((item) => item + 10));
        await echoAll(of);
        expect(await before).toEqual(range(5));
        expect(await after).toEqual(range(5).map((item) => item + 10));
        expect(of.batcher.stats()).toMatchObject({ submitted: 10, completed: 10, waiting: 0 });
        await of.batcher.close();
      }
    },
  );

  test("of an array whose getter submits answers both, each with its own results", async () => {
    const batcher = createBatcher((items: number[]) => items.map((item) => item * 10), { maxBatchSize: 2 });
    const inner: Promise<unknown>[] = [];
    const before = batcher.submitMany([4, 5]);
    const outer = call(
      batcher,
      reading(() => {
        inner.push(batcher.submit(6), batcher.submitMany([7, 8, 9]), call(batcher, [1]));
      }),
    );
    const values = (answers: unknown): unknown[] =>
      (answers as unknown[]).map((answer) =>
        typeof answer === "object" ? (answer as { value: unknown }).value : answer,
      );
    expect(values(await outer)).toEqual([10, 20, 30]);
    expect(await before).toEqual([40, 50]);
    expect(await inner[0]).toBe(60);
    expect(await inner[1]).toEqual([70, 80, 90]);
    expect(values(await inner[2])).toEqual([10]);
    await batcher.close();
  });

  test("of an array whose getter submits the array itself, closes or flushes ends", async () => {
    for (const act of ["itself", "close", "flush"]) {
      const batcher = createBatcher((items: number[]) => items);
      const ended: Promise<unknown>[] = [];
      let isInside = false;
      const items = reading((array) => {
        if (isInside) return;
        isInside = true;
        if (act === "itself") ended.push(call(batcher, array));
        else ended.push(act === "close" ? batcher.close() : batcher.flush());
      });
      const answer = call(batcher, items).catch((error: { code: string }) => error.code);
      await Promise.all(ended);
      const expected = act === "close" ? (method === "submitMany" ? "CLOSED" : expect.anything()) : expect.any(Array);
      expect(await answer).toEqual(expected);
      const { submitted, completed, rejected } = batcher.stats();
      expect(submitted).toBe(completed + rejected);
      await batcher.close();
    }
  });

  test("of an array that shrinks or grows while it is read takes as many items as it had", async () => {
    const batcher = createBatcher((items: (number | undefined)[]) => items);
    for (const act of [shrink, grow]) {
      const answers = (await call(batcher as Batcher<number, number>, reading(act))) as unknown[];
      expect(answers).toHaveLength(3);
    }
    const holes = (await call(batcher as Batcher<number, number>, new Array(3))) as unknown[];
    expect(holes).toHaveLength(3);
    await batcher.close();
  });

  test("of an array that changes afterwards, and in the functions that look at its items, has taken it as it was", async () => {
    const items = range(6);
    const of = rig<number>({
      cost: () => {
        items.length = 0;
        return 1;
      },
    });
    const answers = call(of.batcher, items);
    items.push(9, 9, 9);
    await echoAll(of);
    expect(of.handler.batches).toEqual([range(6)]);
    expect(await answers).toHaveLength(6);
  });
});

test("an item that is a Proxy or a revoked one is passed on untouched, also where a function of another item fails", async () => {
  const items: readonly object[] = [revoked({}) as object, trapped("get", {}) as object, {}];
  const batcher = createBatcher((given: object[]) => given.map((item) => items.indexOf(item)), {});
  expect(await batcher.submitMany(items)).toEqual([0, 1, 2]);
  const failing = createBatcher(
    { prepareItem: (item: object) => item, run: (given: object[]) => given.map((item) => items.indexOf(item)) },
    { key: throws },
  );
  for (const item of items) await expect(failing.submit(item)).rejects.toBe(failure);
  const settled = await failing.submitSettled(items);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await failing.close();
});
