// Requests that wait for the first ones of their cached prefixes: what sealing costs with many
// prefixes, and that none of them waits for ever, whatever fails.

import { afterAll, describe, expect, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, watched } from "../../stores/sqlite/folder.ts";
import { asking, caching, sealedWithin } from "../../support/cached-prefixes.ts";
import { SIM_LIMITS, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, seeded, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("many prefixes", () => {
  const folder = makeFolder();
  afterAll(() => folder.remove());

  test("cost SQLite no more statements than few, for a probe and for each seal", async () => {
    const costs: (readonly number[])[] = [];
    for (const prefixes of [10, 200]) {
      const { database, ran, close } = watched(folder.file());
      const sealed = await sealedWithin(sqliteStore({ database }), prefixes, 10, () => ran.length);
      expect(sealed).toMatchObject({ lanes: 3, sizes: [prefixes, prefixes, 8 * prefixes] });
      costs.push(sealed.costs);
      close();
    }
    expect(costs[1]).toEqual(costs[0]);
  });

  test("are three lanes in memory", async () => {
    const sealed = await sealedWithin(memoryStore(), 200, 10, () => 0);
    expect(sealed).toMatchObject({ lanes: 3, sizes: [200, 200, 1_600] });
  });
});

/** Notes the calls that a store gets. */
function noted(store: Store): { readonly store: Store; readonly calls: (readonly [name: string, input: unknown])[] } {
  const calls: (readonly [string, unknown])[] = [];
  const watching = new Proxy(store, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        calls.push([String(name), given[0]]);
        return value.apply(object, given);
      };
    },
  });
  return { store: watching, calls };
}

test("one turn reads the batches of all first requests at once, however many groups wait", async () => {
  const { time, store, start } = world();
  const { store: watching, calls } = noted(store);
  const provider = new SimProvider({ time, plan: () => ({ runMs: 50 * MINUTE }) });
  const dispatcher = await start({
    ...{ store: watching, accounts: [provider.account({}, caching)], thresholds: { maxAgeMs: MINUTE } },
  });
  for (const group of ["a", "b", "c"]) {
    await dispatcher.enqueueMany(asking(group, 0, 20));
    await time.advance(5 * MINUTE);
  }
  calls.length = 0;
  await time.advance(20 * MINUTE);
  const reads = calls.flatMap(([name, input]) => (name === "batches" && "keys" in (input as object) ? [input] : []));
  expect(reads).toContainEqual({ keys: [expect.any(String), expect.any(String), expect.any(String)], limit: 3 });
  // Other loops read some batches, too, but not one in each turn.
  expect(reads.length).toBeLessThan(1.5 * calls.filter(([name]) => name === "probe").length);
  await dispatcher.stop();
});

test("first requests that no account has room for are not announced and withdrawn, turn after turn", async () => {
  const { time, store, start } = world();
  const { store: watching, calls } = noted(store);
  const provider = new SimProvider({ time, plan: () => ({ runMs: 2 * HOUR }) });
  const account = provider.account({ limits: { ...SIM_LIMITS, maxEnqueuedBatches: 1 } }, caching);
  const dispatcher = await start({ store: watching, accounts: [account], thresholds: { maxAgeMs: MINUTE } });
  await dispatcher.enqueueMany([ask("plain")]);
  await time.advance(5 * MINUTE);
  await dispatcher.enqueueMany(asking("p", 0, 20));
  await time.advance(HOUR);
  const written = calls.filter(([name, input]) => name === "marks" && JSON.stringify(input).includes('"cache '));
  expect(written).toEqual([]);
  await time.advance(5 * HOUR);
  await dispatcher.stop();
  expect((await store.batches({ limit: 9 })).map(({ requests }) => requests).toSorted()).toEqual([1, 1, 19]);
});

/** Several prefixes, deadlines, failures, cancels, and a process that dies. */
async function waitsOf(
  seed: number,
): Promise<{ readonly longest: number; readonly ended: number; readonly all: number }> {
  const { time, store, until } = world();
  const random = seeded(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const runMs = (below(4) + 1) * 20 * MINUTE;
  const failing = new Set(Array.from({ length: below(6) }, () => `p${below(4)}-${below(3)}`));
  const provider = new SimProvider({
    time,
    plan: () => ({ runMs, statusOf: (id: string) => (failing.has(id) ? [400, 500, 0][below(3)] : 200) as number }),
  });
  const enqueuedAt = new Map<string, number>();
  const start = async (process: SimProcess) => {
    const accounts = [process.wrap(provider.account({}, caching))];
    const thresholds = { maxRequests: 100, maxAgeMs: 10 * MINUTE };
    const options = { clock: process.clock, random: seeded(seed), thresholds, onError: () => {} };
    const dispatcher = createDispatcher({ store: process.wrap(store), accounts, ...options });
    await dispatcher.start();
    return dispatcher;
  };
  const first = new SimProcess(time);
  const dispatchers = [await start(first), await start(new SimProcess(time))];
  for (let round = 0; round < 4; round += 1) {
    for (let prefix = 0; prefix < 4; prefix += 1) {
      const deadline = below(3) === 0 ? { deadlineAt: time.now() + below(4 * HOUR) + MINUTE } : {};
      const some = asking(`p${prefix}`, round * 40, round * 40 + below(40), deadline);
      for (const { id } of some) enqueuedAt.set(id as string, time.now());
      await dispatchers[1]?.enqueueMany(some);
    }
    await time.advance(below(90) * MINUTE);
    if (below(4) === 0) await dispatchers[1]?.cancel([...enqueuedAt.keys()].filter(() => below(20) === 0));
    if (below(4) === 0) first.kill();
  }
  await until(() => isAtRest(store, time.now()));
  const waits = provider.executions.map(({ identity, sentAt }) => sentAt - (enqueuedAt.get(identity) ?? sentAt));
  const { outcomes } = await store.probe(1, time.now());
  await dispatchers[1]?.stop();
  const ended = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  // Later tries of a request that failed wait for themselves.
  const firstTries = new Map<string, number>();
  for (const [n, { identity }] of provider.executions.entries()) {
    firstTries.set(identity, Math.min(firstTries.get(identity) ?? Number.POSITIVE_INFINITY, waits[n] as number));
  }
  return { longest: Math.max(0, ...firstTries.values()), ended, all: enqueuedAt.size };
}

test.each(Array.from({ length: 3 }, (_, n) => n + 1))(
  "no request of world %i waits for others longer than an hour",
  async (seed) => {
    const { longest, ended, all } = await waitsOf(seed);
    expect(ended).toBe(all);
    // The age of its lane, the hour, and a killed process's lease.
    expect(longest).toBeLessThanOrEqual(10 * MINUTE + HOUR + 10 * MINUTE);
  },
);
