// The engine on platforms with less than Node.js: without process.nextTick, without setImmediate,
// and finally without MessageChannel. It is bundled as for a browser and run in a context that has
// only those globals.

import { createContext, runInContext } from "node:vm";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type * as Library from "batchwise";
import { build } from "esbuild";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { root } from "../house/repository.ts";
import { gate, range } from "../support.ts";

let bundle = "";
const ports: MessagePort[] = [];

beforeAll(async () => {
  const entryPoints = [`${root}packages/batchwise/src/index.ts`];
  const options = { bundle: true, platform: "browser", format: "iife", globalName: "library", write: false } as const;
  const { outputFiles } = await build({ ...options, entryPoints });
  bundle = outputFiles[0]?.text ?? "";
});

afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

/**
 * Counts the channels that are made, and lets the test close them: an open one keeps Node.js alive.
 */
class CountedChannel extends MessageChannel {
  constructor() {
    super();
    ports.push(this.port1, this.port2);
  }
}

const common = { performance, setTimeout, clearTimeout, AbortController, DOMException };
const platforms: Record<string, object> = {
  "a browser": { ...common, MessageChannel: CountedChannel },
  "a browser with setImmediate": { ...common, MessageChannel: CountedChannel, setImmediate },
  "a runtime that has promises only": common,
};

/** Loads the library with these globals. */
function load(globals: object): typeof Library {
  const context = createContext({ ...globals });
  runInContext(bundle, context);
  return runInContext("library", context) as typeof Library;
}

const aTask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each(Object.entries(platforms))("in %s", (_, globals) => {
  test.each(["auto", "turn", "tick"] as const)(
    "submits of later promise jobs travel together, gather %j",
    async (gather) => {
      const { createBatcher } = load(globals);
      const batches: number[][] = [];
      const batcher = createBatcher(
        (items: number[]) => {
          batches.push(items);
          return items;
        },
        { gather },
      );
      for (let round = 0; round < 3; round += 1) {
        const submit = async (item: number): Promise<number> => {
          if (item > 0) await null;
          return batcher.submit(item);
        };
        expect(await Promise.all(range(4).map(submit))).toEqual(range(4));
      }
      expect(batches).toEqual(range(3).map(() => range(4)));
      const last = [batcher.submit(1), batcher.submit(2)];
      await batcher.close();
      expect(await Promise.all(last)).toEqual([1, 2]);
    },
  );

  test("a slow handler's batches grow meanwhile", async () => {
    const { createBatcher } = load(globals);
    const sizes: number[] = [];
    const allSubmitted = gate();
    const batcher = createBatcher(async (items: number[]) => {
      sizes.push(items.length);
      await allSubmitted.promise;
      return items;
    });
    const answers = [batcher.submit(0)];
    for (let item = 1; item < 5; item += 1) {
      await aTask();
      await aTask();
      answers.push(batcher.submit(item));
    }
    allSubmitted.open();
    expect(await Promise.all(answers)).toEqual(range(5));
    expect(sizes).toEqual([1, 4]);
  });
});

describe("without setImmediate", () => {
  test("a pass ends by a message to oneself: items that come before it is read share a batch", async () => {
    const { createBatcher } = load(platforms["a browser"] as object);
    const { port1, port2 } = new CountedChannel();
    const batches: number[][] = [];
    const batcher = createBatcher(
      (items: number[]) => {
        batches.push(items);
        return items;
      },
      { gather: "tick" },
    );
    const answers: Promise<number>[] = [];
    const isDone = new Promise<void>((resolve) => {
      port1.on("message", (item: number) => {
        answers.push(batcher.submit(item));
        if (item === 3) resolve();
      });
    });
    for (const item of range(4)) port2.postMessage(item);
    await isDone;
    expect(await Promise.all(answers)).toEqual(range(4));
    expect(batches).toEqual([range(4)]);
    expect(ports).toHaveLength(4);
  });

  test("one channel serves all batchers, and no timer is set", async () => {
    let timers = 0;
    const counting = (callback: () => void, delayMs: number): unknown => {
      timers += 1;
      return setTimeout(callback, delayMs);
    };
    const { createBatcher } = load({ ...platforms["a browser"], setTimeout: counting });
    for (const gather of ["auto", "turn", "tick"] as const) {
      const batcher = createBatcher((items: number[]) => items, { gather });
      for (const item of range(3)) expect(await batcher.submit(item)).toBe(item);
    }
    expect(ports).toHaveLength(2);
    expect(timers).toBe(0);
  });
});
