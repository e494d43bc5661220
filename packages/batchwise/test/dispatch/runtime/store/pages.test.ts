// Pages of matching requests, read from a store that a stop leaves.

import { expect, test } from "vitest";
import { matching } from "../../../../src/dispatch/runtime/store/pages.ts";

test("after an abort no page is read, also if no page before had a row", async () => {
  const stop = new AbortController();
  let reads = 0;
  const find = async (): Promise<{ rows: []; next: number }> => {
    reads += 1;
    stop.abort(new Error("stopped"));
    return { rows: [], next: reads };
  };
  await expect(matching({ find }, {}, { signal: stop.signal }).next()).rejects.toThrow("stopped");
  expect(reads).toBe(1);
});

test("an abort during the last page does not fail the caller, who has all rows", async () => {
  const stop = new AbortController();
  const find = async (): Promise<{ rows: []; next: null }> => {
    stop.abort(new Error("stopped"));
    return { rows: [], next: null };
  };
  expect(await matching({ find }, {}, { signal: stop.signal }).next()).toMatchObject({ done: true });
});
