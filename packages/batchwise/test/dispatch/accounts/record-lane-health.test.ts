// The pause of a lane in the store: after a process has died right after it had written one, the
// next owner of the batch reports it; and a mark of an earlier version is replaced.

import { expect, test } from "vitest";
import {
  afterBadHour,
  afterSuccess,
  healthMark,
  healthOf,
  healthValue,
} from "../../../src/dispatch/accounts/lane-health.ts";
import { changeHealth } from "../../../src/dispatch/accounts/record-lane-health.ts";
import type { MarkChange } from "../../../src/dispatch/contract/store/ledger-rows.ts";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../src/dispatch/runtime/runtime.ts";
import { type SimOptions, SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, SimProcess, world } from "../support/world.ts";

const MINUTE = 60_000;
const refusal = { kind: "invalidRequest", code: "model_not_found", message: "No such model." } as const;

const refused: Omit<SimOptions, "time"> = {
  plan: () => ({ validateMs: MINUTE, failure: { ...refusal, lines: [{ ...refusal, line: 1 }] } }),
};
const capacity: Omit<SimOptions, "time"> = {
  plan: () => ({ validateMs: 0, runMs: MINUTE, statusOf: () => 529 }),
};

test.each([
  ["because its lines are bad", refused],
  ["because the provider has no capacity", capacity],
])("a lane that pauses %s is reported, although the process died that wrote it", async (_name, options) => {
  const { time, store, start } = world();
  const sim = new SimProvider({ time, ...options });
  const told: string[] = [];
  const onError = (error: unknown): number => told.push((error as { readonly code?: string }).code ?? "");
  const process = new SimProcess(time);
  let isKilled = false;
  const mortal = process.wrap(store, async (name, call, given) => {
    const answer = await call();
    const pauses = name === "marks" && (given[0] as readonly MarkChange[]).some(({ value }) => isPause(value));
    if (pauses) process.kill();
    isKilled ||= pauses;
    return answer;
  });
  const thresholds = { maxRequests: 3 };
  const first = await start({
    ...{ store: mortal, clock: process.clock },
    accounts: [sim.account()],
    thresholds,
    onError,
  });
  await first.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
  while (!isKilled) await time.advance(1_000);
  expect(told).not.toContain("LANE_PAUSED");
  const second = await start({ accounts: [sim.account()], thresholds, onError });
  const isOver = async () => (await store.batches({ limit: 10 })).some(({ state }) => state === "done");
  while (!(await isOver())) await time.advance(1_000);
  expect(told.filter((code) => code === "LANE_PAUSED")).toHaveLength(1);
  await second.stop();
});

test("a change of a lane's health replaces the mark that an earlier version wrote", async () => {
  const { time, store } = world();
  const sim = new SimProvider({ time });
  const runtime = new Runtime(resolveOptions({ store, accounts: [sim.account()], clock: time }));
  const place = { account: "a b", endpoint: "/v1/embeddings", model: "m" } as const;
  const paused = afterBadHour(healthOf(new Map(), place), { key: "b1", sentAt: 0 }, refusal, time.now());
  const former = { name: healthMark({ ...place, account: "a", model: "b m" }), expected: null };
  await store.marks([{ ...former, value: healthValue(paused) }], time.now());
  expect(await changeHealth(runtime, place, "b2", afterSuccess)).toMatchObject({ before: paused });
  expect(await store.marks([], time.now())).toEqual([]);
});

function isPause(value: string | null): boolean {
  return value?.includes('"pause":{') === true;
}
