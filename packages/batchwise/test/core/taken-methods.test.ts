// Methods used without their object, as in `const { advance } = virtualClock()`.

import { memoryStore, type Store } from "batchwise/dispatch";
import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { fakeProvider } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import { threadHandler } from "batchwise/threads";
import { expect, test } from "vitest";
import { bindMethods } from "../../src/core/contract/bind-methods.ts";

/** A server that does not answer. */
const away = (): Promise<never> => new Promise(() => {});

const makers: Readonly<Record<string, () => object>> = {
  virtualClock,
  fakeProvider,
  threadHandler: () => threadHandler(new URL("./no-such-file.js", import.meta.url)),
  memoryStore,
  sqliteStore: () => sqliteStore({ path: ":memory:" }),
  postgresStore: () => postgresStore({ pool: { connect: away, query: away } as never }),
  redisStore: () => redisStore({ client: { sendCommand: away } as never }),
};

function methodNames(object: object): string[] {
  const names = new Set<string>();
  for (let level = object; level !== Object.prototype; level = Object.getPrototypeOf(level) as object)
    for (const name of Object.getOwnPropertyNames(level)) if (name !== "constructor") names.add(name);
  return [...names].filter((name) => typeof (object as Record<string, unknown>)[name] === "function");
}

type Methods = Readonly<Record<string, (...given: unknown[]) => unknown>>;

/**
 * The message of a call's error, or the kind of its result. Each may refuse its arguments with its
 * own message.
 */
async function endOf(call: () => unknown): Promise<string> {
  try {
    const pending = new Promise((resolve) => setImmediate(resolve));
    return typeof (await Promise.race([call(), pending]));
  } catch (error) {
    return String(error);
  }
}

test.each(Object.entries(makers))("every method works when it is taken off a %s", async (_name, make) => {
  const names = methodNames(make());
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) {
    const [one, other] = [make() as Methods, make() as Methods];
    const taken = one[name];
    const onObject = await endOf(() => other[name]?.([]));
    expect([name, await endOf(() => taken?.([]))]).toEqual([name, onObject]);
  }
});

test("close of a store and advance of a clock work on their object", async () => {
  const { probe, close }: Store = memoryStore();
  expect((await probe(1, 0)).inBatches).toBe(0);
  await close();
  await expect(probe(1, 0)).rejects.toMatchObject({ code: "CLOSED" });
  const { setTimeout: later, advance, now } = virtualClock();
  const rang: number[] = [];
  later(() => rang.push(now()), 10);
  await advance(20);
  expect(rang).toEqual([10]);
});

test("a method that a subclass overrides is bound once", () => {
  class Base {
    constructor() {
      bindMethods(this);
    }
    read(): unknown {
      return null;
    }
  }
  class Override extends Base {
    override read(): unknown {
      return this;
    }
  }
  const object = new Override();
  const { read } = object;
  expect(read()).toBe(object);
  expect(read.name).toBe("bound read");
});
