import { expect, test } from "vitest";
import { Places } from "../../../src/dispatch/batches/places.ts";

/** Operations of accounts, each ended by its name. */
function rig(places: number) {
  const all = new Places(places);
  const running: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const begin = (name: string): Promise<void> => {
    const work = (): Promise<void> => {
      running.push(name);
      return new Promise((resolve, reject) => {
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      });
    };
    return all.run(name.slice(0, 1), work).finally(() => running.splice(running.indexOf(name), 1));
  };
  const end = async (name: string, error?: Error): Promise<void> => {
    ends.get(name)?.(error);
    for (let n = 0; n < 10; n += 1) await Promise.resolve();
  };
  const beginAll = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) begin(name).catch(() => {});
    await Promise.resolve();
  };
  return { running, end, beginAll };
}

test("one account has all places, and its operations go in their order, also after a failure", async () => {
  const { running, end, beginAll } = rig(2);
  await beginAll("a0", "a1", "a2", "a3");
  expect(running).toEqual(["a0", "a1"]);
  await end("a0", new Error("No."));
  expect(running).toEqual(["a1", "a2"]);
  await end("a1");
  await end("a2");
  expect(running).toEqual(["a3"]);
});

test("an account has its share at once, though another holds all places for ever", async () => {
  const { running, beginAll } = rig(4);
  await beginAll("a0", "a1", "a2", "a3", "a4", "a5", "b0", "b1", "b2", "c0", "c1");
  expect(running).toEqual(["a0", "a1", "a2", "a3", "b0", "b1", "c0"]);
});

test("a free place goes to the account that holds the fewest", async () => {
  const { running, end, beginAll } = rig(4);
  await beginAll("a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2");
  expect(running).toEqual(["a0", "a1", "a2", "a3", "b0", "b1"]);
  await end("a0");
  await end("a1");
  expect(running).toEqual(["a2", "a3", "b0", "b1"]);
  await end("a2");
  expect(running).toEqual(["a3", "b0", "b1", "a4"]);
  await end("a3");
  expect(running).toEqual(["b0", "b1", "a4", "b2"]);
});

test("each of many accounts has one place", async () => {
  const { running, beginAll } = rig(2);
  await beginAll("a0", "a1", "b0", "c0", "d0", "a2", "b1", "c1", "d1");
  expect(running).toEqual(["a0", "a1", "b0", "c0", "d0"]);
});
