// Where a sweep goes on, in stores of this version and of earlier ones.

import { expect, test } from "vitest";
import { SweepPlace } from "../../../../src/dispatch/batches/sweep/sweep-place.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { START } from "../../support/world.ts";

async function withMark(name: string, value: string) {
  const here = { clock: virtualClock(START), store: memoryStore() };
  await here.store.marks([{ name, expected: null, value }], START);
  return here;
}

test("a place that an earlier version has stored is taken over, under its new name", async () => {
  const kept = JSON.stringify({ at: START, part: "listed", after: "page 2" });
  const here = await withMark("sweep place a", kept);
  const place = await SweepPlace.read(here, "a");
  expect(place.after("listed")).toBe("page 2");
  await place.keep();
  expect(await here.store.marks([], START)).toEqual([{ name: "place of sweep a", value: kept }]);
});

test("the turns of an account called `place a` are not the place of the account `a`", async () => {
  const here = await withMark("sweep place a", `${START} 2 owner`);
  const place = await SweepPlace.read(here, "a");
  place.reach("files", null);
  await place.keep();
  expect((await here.store.marks([], START)).map(({ name }) => name).sort()).toEqual([
    "place of sweep a",
    "sweep place a",
  ]);
  expect((await SweepPlace.read(here, "a")).isAtFiles).toBe(true);
});
