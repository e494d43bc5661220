import { expect, test } from "vitest";
import { Semaphore } from "../../../src/dispatch/scheduler/semaphore.ts";

test("a semaphore lets as many run as it has places, the others in their order, also after a failure", async () => {
  const semaphore = new Semaphore(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const pass = (name: number, fails: boolean): Promise<unknown> =>
    semaphore
      .run(() => {
        begun.push(name);
        return new Promise((resolve, reject) => {
          ends.push(() => (fails ? reject(new Error("No.")) : resolve(null)));
        });
      })
      .catch(() => {});
  const all = [0, 1, 2, 3].map((name) => pass(name, name === 0));
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  ends[0]?.();
  await all[0];
  expect(begun).toEqual([0, 1, 2]);
  ends[1]?.();
  ends[2]?.();
  await all[1];
  ends[3]?.();
  await Promise.all(all);
  expect(begun).toEqual([0, 1, 2, 3]);
});
