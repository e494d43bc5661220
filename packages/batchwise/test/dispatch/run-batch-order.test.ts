// A run that does not repeat the order of the one before: it must not leave requests behind that no later run can repeat.

import { expect, test } from "vitest";
import { all, bodyOf, jobWorld, plain, runsOf } from "./support/job-world.ts";

test("a list with one inserted is refused and adds nothing: the right list can still be gone on with", async () => {
  const { run, settle, fake, store } = jobWorld();
  await settle(all(run({ requests: plain(10) })));
  const inserted = plain(12).toSpliced(4, 0, { body: bodyOf("inserted") });
  await expect(settle(all(run({ requests: inserted })))).rejects.toThrow("requests[4] has changed");
  expect((await store.usage({ job: "night" })).map(({ requests }) => requests)).toEqual([10]);
  const outcomes = await settle(all(run({ requests: plain(12) })));
  expect(outcomes.map(({ index }) => Number(index)).toSorted((a, b) => a - b)).toEqual([...Array(12).keys()]);
  expect(runsOf(fake)).toEqual(Array(12).fill(1));
});
