// Holders of a duty: one process at a time, and another one when its time has passed.

import { expect, test } from "vitest";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { takeDuty } from "../../../src/dispatch/runtime/duty.ts";
import { Runtime } from "../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { SimProcess, world } from "../support/world.ts";

const MINUTE = 60_000;

function rig() {
  const { time } = world();
  const store = memoryStore();
  const accounts = [new SimProvider({ time }).account()];
  const process = (owner: string, skewMs = 0): Runtime => {
    const { clock } = new SimProcess(time, skewMs);
    return new Runtime(resolveOptions({ store, accounts, owner, clock }));
  };
  return { time, store, process };
}

test("one process has a duty, and may take it again, until its time has ended", async () => {
  const { time, process } = rig();
  const [a, b] = [process("a"), process("b")];
  expect(await takeDuty(a, "sweep", 10 * MINUTE)).toBe(true);
  expect(await takeDuty(b, "sweep", 10 * MINUTE)).toBe(false);
  expect(await takeDuty(b, "prune", 10 * MINUTE)).toBe(true);
  await time.advance(9 * MINUTE);
  expect(await takeDuty(a, "sweep", 10 * MINUTE)).toBe(true);
  await time.advance(9 * MINUTE);
  expect(await takeDuty(b, "sweep", 10 * MINUTE)).toBe(false);
  await time.advance(MINUTE);
  expect(await takeDuty(b, "sweep", 10 * MINUTE)).toBe(true);
  expect(await takeDuty(a, "sweep", 10 * MINUTE)).toBe(false);
});

test("of several processes that request it at one time one gets it", async () => {
  const { process } = rig();
  const all = ["a", "b", "c", "d"].map((owner) => process(owner));
  const got = await Promise.all(all.map((runtime) => takeDuty(runtime, "sweep", MINUTE)));
  expect(got.filter(Boolean)).toHaveLength(1);
});

test("a duty that was taken by a clock a day ahead is free", async () => {
  const { process } = rig();
  expect(await takeDuty(process("ahead", 24 * 60 * MINUTE), "sweep", 10 * MINUTE)).toBe(true);
  expect(await takeDuty(process("a"), "sweep", 10 * MINUTE)).toBe(true);
});

test("a name with a space in it is one name", async () => {
  const { process } = rig();
  expect(await takeDuty(process("pod 1"), "sweep", MINUTE)).toBe(true);
  expect(await takeDuty(process("pod"), "sweep", MINUTE)).toBe(false);
  expect(await takeDuty(process("pod 1"), "sweep", MINUTE)).toBe(true);
});
