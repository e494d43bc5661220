// Fairness between lanes, and retries that share batches: no lane starves, and no retry is sent
// alone needlessly.

import { expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { SealInput } from "../../../../src/dispatch/contract/store/calls.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { SIM_LIMITS, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "../../support/world.ts";

const MINUTE = 60_000;
const of = (model: string, id: string): DispatchRequest => ({
  id,
  body: { model, messages: [{ role: "user", content: id }] },
});

/** 300 requests, every third of which fails once; their results come at five a second. */
async function failing() {
  const here = world();
  const fails = (name: string): boolean => Number(name.slice(1)) % 3 === 0;
  const sim = new SimProvider({
    time: here.time,
    plan: () => ({ statusOf: (name, run) => (fails(name) && run === 1 ? 503 : 200) }),
  });
  const plain = sim.account();
  const account: Account = {
    ...plain,
    async *results(batch, call, name) {
      for await (const line of plain.results(batch, call, name)) {
        await new Promise((resolve) => here.time.setTimeout(() => resolve(null), 200));
        yield line;
      }
    },
  };
  const thresholds = { maxRequests: 1_000, maxAgeMs: 5 * MINUTE };
  const dispatcher = await here.start({ accounts: [account], thresholds });
  await dispatcher.enqueueMany(Array.from({ length: 300 }, (_, index) => ask(`r${index}`)));
  const rest = (): Promise<void> => here.until(() => isAtRest(here.store, here.time.now()));
  return { dispatcher, rest, sizes: () => sim.batches.map(({ total }) => total) };
}

test("requests that are tried again wait for more once more, and share a batch", async () => {
  const { rest, sizes } = await failing();
  await rest();
  expect(sizes()).toEqual([300, 100]);
});

test("requests of a flush that are tried again share batches too, while more of them are to come", async () => {
  const { dispatcher, rest, sizes } = await failing();
  dispatcher.flush();
  await rest();
  expect(sizes().length).toBeLessThan(6);
});

test("requests of a batch that was refused for another one's fault do not wait for more again", async () => {
  const here = world();
  const lines = [{ line: 2, code: "bad", message: "Line 2 is bad." }];
  const failure = { kind: "invalidRequest", code: "invalid_batch", message: "Refused.", lines } as const;
  const sim = new SimProvider({ time: here.time, plan: ({ index }) => (index === 0 ? { failure } : {}) });
  const thresholds = { maxRequests: 1_000, maxAgeMs: 30 * MINUTE };
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
  await here.time.advance(33 * MINUTE);
  expect(sim.batches.map(({ total }) => total)).toEqual([3, 2]);
});

test("a model that always has full batches does not keep another one from the account that they share", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const limits = { ...SIM_LIMITS, maxEnqueuedBatches: 1 };
  const account = sim.account({ ledgerScope: "account", limits });
  const thresholds = { maxRequests: 2, maxAgeMs: 10 * MINUTE };
  const dispatcher = await here.start({ accounts: [account], thresholds });
  await dispatcher.enqueueMany(Array.from({ length: 20 }, (_, index) => of("busy", `busy ${index}`)));
  await dispatcher.enqueue(of("quiet", "quiet"));
  for (let rounds = 0; rounds < 100; rounds += 1) {
    await dispatcher.enqueue(of("busy", `busy too ${rounds}`));
    await here.time.advance(3 * MINUTE);
  }
  const [row] = await here.store.requests({ ids: ["quiet"] });
  expect(row?.state).toBe("ended");
});

test("a lane whose batches a mistake keeps from being made holds up no other lane", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const told: unknown[] = [];
  let isOdd = true;
  const store = new SimProcess(here.time).wrap(here.store, (name, call, [input]) => {
    if (isOdd && name === "seal" && (input as SealInput).lane.includes("odd"))
      throw new TypeError("x is not a function");
    return call();
  });
  const options = { store, accounts: [sim.account()], onError: (error: unknown) => void told.push(error) };
  const dispatcher = await here.start({ ...options, thresholds: { maxRequests: 1 } });
  await dispatcher.enqueueMany([of("odd", "a"), of("even", "b")]);
  await here.time.advance(60 * MINUTE);
  expect(await here.store.outcomes({ after: 0, limit: 2 })).toMatchObject([{ id: "b" }]);
  expect(told).toContainEqual(expect.objectContaining({ message: "x is not a function" }));
  isOdd = false;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(await here.store.outcomes({ after: 0, limit: 2 })).toMatchObject([{ id: "b" }, { id: "a" }]);
});
