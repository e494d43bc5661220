// A store that has lost acknowledged rows: waiting callers get an error, nothing from before is
// written into the remaining rows, and later requests are processed as usual.

import { describe, expect, test } from "vitest";
import type { LoggedOutcome } from "../../../src/dispatch/contract/types.ts";
import { losingStore } from "../support/set-back.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../support/world.ts";

const MINUTE = 60_000;
const thresholds = { maxRequests: 5 };
const names = ["a", "b", "c", "d", "e"];
const setBack = expect.objectContaining({ code: "STORE_SET_BACK", retryable: true });

async function rig() {
  const { time, start, until } = world();
  const store = losingStore();
  const sim = new SimProvider({ time });
  const told: unknown[] = [];
  const onError = (error: unknown): unknown => told.push(error);
  const begin = () => start({ store, accounts: [sim.account()], thresholds, onError });
  return { time, store, sim, told, begin, until };
}

async function read(outcomes: AsyncIterable<LoggedOutcome>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of outcomes) ids.push(id);
  return ids;
}

describe("a store that has lost everything", () => {
  test("fails every wait for it, in every dispatcher of the process, and reports each once", async () => {
    const { time, store, told, begin } = await rig();
    const [first, second] = [await begin(), await begin()];
    await first.enqueueMany(names.map((name) => ask(name)));
    const waits = [
      first.result("a"),
      first.result("b"),
      second.result("c"),
      read(first.outcomes()),
      read(second.outcomes({ untilIdle: true })),
    ];
    const ends = Promise.allSettled(waits);
    await time.advance(1_000);
    store.lose();
    await time.advance(MINUTE);
    expect(await ends).toEqual(waits.map(() => ({ status: "rejected", reason: setBack })));
    expect(told).toEqual([setBack, setBack]);
    await expect(first.result("a")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("ends an iterator that has not read yet: none of 5 is not all of 5", async () => {
    const { time, store, begin } = await rig();
    const dispatcher = await begin();
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    store.lose();
    const reading = expect(read(dispatcher.outcomes({ untilIdle: true }))).rejects.toEqual(setBack);
    await time.advance(MINUTE);
    await reading;
  });

  test("continues with later outcomes, and takes no earlier ones", async () => {
    const { time, store, begin, until } = await rig();
    const dispatcher = await begin();
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await time.advance(1_000);
    store.lose();
    await expect(dispatcher.enqueueMany(names.map((name) => ask(`new ${name}`)))).rejects.toEqual(setBack);
    await dispatcher.enqueueMany(names.map((name) => ask(`new ${name}`)));
    await until(() => isAtRest(store, time.now()));
    const outcomes = await store.outcomes({ after: 0, limit: 100 });
    expect(outcomes.map(({ id }) => id).toSorted()).toEqual(names.map((name) => `new ${name}`));
    expect(await store.batches({ limit: 10 })).toHaveLength(1);
  });

  test("gets no write of a lease from before: the same fence may be another process's now", async () => {
    const { time, start } = world();
    const lost = losingStore();
    let isLost = false;
    const written: string[] = [];
    const store = new Proxy(lost, {
      get(target, name) {
        if (isLost && (name === "transition" || name === "settle")) written.push(name);
        return Reflect.get(target, name);
      },
    });
    const sim = new SimProvider({ time, fate: (operation) => (operation === "upload" ? { actAfterMs: 50_000 } : {}) });
    const dispatcher = await start({ store, accounts: [sim.account()], thresholds });
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await time.advance(1_000);
    lost.lose();
    isLost = true;
    await dispatcher.stats().catch(() => {});
    await time.advance(10 * MINUTE);
    expect(written).toEqual([]);
    expect(sim.calls.get("create")).toBeUndefined();
  });

  test("books no delivery from before on an outcome that has its cursor now", async () => {
    const { time, start, until } = world();
    const store = losingStore();
    const sim = new SimProvider({ time });
    const called: string[] = [];
    const onOutcome = async ({ id }: LoggedOutcome): Promise<void> => {
      called.push(id);
      if (id !== "a") return;
      // While this one is under way, all is lost, and another outcome gets its cursor.
      store.lose();
      await store.probe(1, time.now()).catch(() => {});
      while ((await store.probe(1, time.now())).cursor === 0) {
        await new Promise((resolve) => time.setTimeout(() => resolve(null), MINUTE));
      }
    };
    const dispatcher = await start({ store, accounts: [sim.account()], thresholds: { maxRequests: 1 }, onOutcome });
    await dispatcher.enqueue(ask("a"));
    await until(async () => called.length === 1);
    await dispatcher.enqueue(ask("b"));
    await until(async () => (await store.probe(1, time.now())).cursor === 1 && (await isAtRest(store, time.now())));
    expect(called).toEqual(["a", "b"]);
  });
});
