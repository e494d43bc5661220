// A run that does not repeat the order of the one before: it must not leave requests behind that no
// later run can repeat.

import { expect, test } from "vitest";
import type { JobRequest } from "../../../src/dispatch/contract/jobs.ts";
import { all, bodyOf, jobWorld, plain, runsOf } from "../support/job-world.ts";

test("a list with one inserted is refused and adds nothing: the right list can still resume", async () => {
  const { run, settle, fake, store } = jobWorld();
  await settle(all(run({ requests: plain(10) })));
  const inserted = plain(12).toSpliced(4, 0, { body: bodyOf("inserted") });
  await expect(settle(all(run({ requests: inserted })))).rejects.toThrow("requests[4] has changed");
  expect((await store.usage({ job: "night" })).map(({ requests }) => requests)).toEqual([10]);
  const outcomes = await settle(all(run({ requests: plain(12) })));
  expect(outcomes.map(({ index }) => Number(index)).toSorted((a, b) => a - b)).toEqual([...Array(12).keys()]);
  expect(runsOf(fake)).toEqual(Array(12).fill(1));
});

test.each([
  ["an array", (requests: JobRequest[]) => requests, 0],
  ["another iterable", (requests: JobRequest[]) => requests.values(), 25],
])(
  "a request that has changed in %s rejects, and so many outcomes of the run before come first",
  async (_what, as, most) => {
    const { run, settle } = jobWorld();
    await settle(all(run({ requests: plain(25) })));
    const given: unknown[] = [];
    const read = async (): Promise<void> => {
      const requests = as(plain(25).with(24, { body: bodyOf("other") }));
      for await (const outcome of run({ requests })) given.push(outcome);
    };
    await expect(settle(read())).rejects.toMatchObject({ code: "DUPLICATE_ID" });
    expect(given.length).toBeLessThanOrEqual(most);
  },
);
