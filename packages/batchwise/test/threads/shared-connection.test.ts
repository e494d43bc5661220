// A connection between threads, here with both ends in one.

import { createBatcher } from "batchwise";
import { connectBatcher, shareBatcher } from "batchwise/threads";
import { expect, test } from "vitest";

test("a connection that is closed takes none of the requests that have come already", async () => {
  const ran: string[] = [];
  const batcher = createBatcher(
    (items: string[]) => {
      shared.close();
      ran.push(...items);
      return items;
    },
    { maxBatchSize: 1 },
  );
  const shared = shareBatcher(batcher);
  const connection = connectBatcher<string, string>(shared.port());
  const { signal } = new AbortController();
  const answers = ["a", "b", "c"].map((item) => connection.submit(item, { signal }));
  const outcomes = await Promise.allSettled(answers);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await batcher.close();
  expect(ran).toEqual(["a"]);
});
