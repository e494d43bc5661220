// The dispatcher from end to end, on the memory store and a provider in a few lines, in virtual time.

import { expect, test } from "vitest";
import type { Outcome } from "../../src/dispatch/types.ts";
import { SimProvider } from "./support/sim-provider.ts";
import { ask, isAtRest, world } from "./support/world.ts";

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

test("requests come back one by one, each with its own answer", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time });
  const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 10 } });
  await dispatcher.enqueueMany(names(25).map((name) => ask(name)));
  const answers = Promise.all(names(25).map((name) => dispatcher.result(name)));
  await until(() => isAtRest(store, time.now()));
  const outcomes: Outcome[] = await answers;
  expect(outcomes.map(({ status, attempts, response }) => [status, attempts, response?.body])).toEqual(
    names(25).map((name) => ["succeeded", 1, { answer: name }]),
  );
  expect((await dispatcher.batches()).map(({ requests, state }) => [requests, state])).toEqual([
    [5, "done"],
    [10, "done"],
    [10, "done"],
  ]);
  await dispatcher.stop();
});
