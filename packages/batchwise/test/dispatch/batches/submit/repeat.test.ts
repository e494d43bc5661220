// A create that is repeated under its idempotency token because its result is unknown: until it is
// known, the token stays, whatever the result of the repetition.

import { describe, expect, test } from "vitest";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { type Fate, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

const words = { code: "c", message: "m" };
const names = ["a", "b", "c", "d"];

const refusals: readonly Failure[] = [
  { kind: "definitelyNotCreated", ...words },
  { kind: "rateLimited", ...words, retryAfterMs: 60_000 },
  { kind: "authOrBilling", ...words },
];
const uploads: readonly Failure[] = [
  ...refusals,
  { kind: "unknown", ...words },
  { kind: "invalidRequest", ...words, lines: [] },
];

/** The first create is accepted and its answer lost; `fates` are those of the calls after it. */
async function run(input: "file" | "inline", fates: Readonly<Record<string, readonly Fate[]>>) {
  const { time, store, start, until } = world();
  const counts = new Map<string, number>();
  const of: Readonly<Record<string, readonly Fate[]>> = {
    ...fates,
    create: [{ drop: "after" }, ...(fates.create ?? [])],
  };
  let firstSentAt = Number.NaN;
  const fate = (operation: string): Fate => {
    const count = counts.get(operation) ?? 0;
    if (operation === "create" && count === 0) firstSentAt = time.now();
    counts.set(operation, count + 1);
    return of[operation]?.[count] ?? {};
  };
  const sim = new SimProvider({ time, fate });
  const accounts = [sim.account({ tag: "idempotencyToken", maxInlineBytes: input === "file" ? 0 : Infinity })];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: names.length } });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await until(() => isAtRest(store, time.now()));
  const outcomes = await store.outcomes({ after: 0, limit: 10 });
  const rows = await store.batches({ limit: 10 });
  const statuses = outcomes.map(({ status }) => status);
  return { sim, statuses, rows, firstSentAt, batches: await dispatcher.batches() };
}

describe.each(["file", "inline"] as const)("a repeated create (%s)", (input) => {
  test.each(refusals)(
    "that is refused as $kind says nothing of the first one: each request runs once",
    async (refuse) => {
      const { sim, statuses, batches } = await run(input, { create: [{ refuse }, { refuse }] });
      expect(statuses).toEqual(names.map(() => "succeeded"));
      expect(sim.executions.map(({ identity }) => identity).toSorted()).toEqual(names);
      expect(batches).toMatchObject([{ submitAttempt: 1, state: "done" }]);
    },
  );

  test("counts from the first one, which the provider may have accepted: it proves nothing about later creates", async () => {
    const { rows, firstSentAt } = await run(input, { create: [{ drop: "before" }] });
    expect(rows.map(({ submitStartedAt }) => (submitStartedAt ?? Infinity) <= firstSentAt)).toEqual([true]);
  });
});

describe("the upload of a repeated create", () => {
  test.each(uploads)("that fails as $kind keeps the token: each request runs once", async (refuse) => {
    const gone: Fate = { refuse: { kind: "definitelyNotCreated", ...words } };
    const { sim, statuses, batches } = await run("file", { create: [gone], upload: [{}, { refuse }, { refuse }] });
    expect(statuses).toEqual(names.map(() => "succeeded"));
    expect(sim.executions.map(({ identity }) => identity).toSorted()).toEqual(names);
    expect(batches).toMatchObject([{ submitAttempt: 1, state: "done" }]);
  });
});

test("a repeated create that is refused for its lines was not accepted the first time: the batch goes again", async () => {
  const { time, store, start, until } = world();
  const refuse: Failure = { kind: "invalidRequest", ...words, lines: [{ line: 1, ...words }] };
  const fates: Fate[] = [{ drop: "before" }, { refuse }];
  const sim = new SimProvider({ time, fate: (operation) => (operation === "create" ? (fates.shift() ?? {}) : {}) });
  const accounts = [sim.account({ tag: "idempotencyToken" })];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: names.length } });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await until(() => isAtRest(store, time.now()));
  const statuses = await Promise.all(names.map(async (name) => (await dispatcher.result(name)).status));
  expect(statuses).toEqual(names.map((_name, index) => (index === 0 ? "failed" : "succeeded")));
});

test("a repeated create that is refused for no reason may have been accepted: it is repeated as it was", async () => {
  const { time, store, start, until } = world();
  const refuse: Failure = { kind: "invalidRequest", ...words, lines: [] };
  const fates: Fate[] = [{ drop: "after" }, { refuse }];
  const sim = new SimProvider({ time, fate: (operation) => (operation === "create" ? (fates.shift() ?? {}) : {}) });
  const accounts = [sim.account({ tag: "idempotencyToken" })];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: names.length } });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await until(() => isAtRest(store, time.now()));
  expect(await dispatcher.batches()).toMatchObject([{ submitAttempt: 1, state: "done" }]);
  expect([...sim.successes().values()]).toEqual(names.map(() => 1));
});
