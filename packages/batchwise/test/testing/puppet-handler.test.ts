import { createBatcher } from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reasonOf } from "../support.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});

afterEach(() => {
  process.off("unhandledRejection", note);
});

test("only the first answer to a call counts, and a later `reject` causes no unhandled rejection", async () => {
  const clock = virtualClock();
  const handler = puppetHandler<number>();
  const batcher = createBatcher(handler, { clock });
  const first = batcher.submit(1);
  await clock.settle();
  handler.calls[0]?.answer((item) => item);
  handler.calls[0]?.reject(new Error("the call was answered"));
  expect(await first).toBe(1);

  const boom = new Error("boom");
  const second = reasonOf(batcher.submit(2));
  await clock.settle();
  handler.calls[1]?.reject(boom);
  handler.calls[1]?.reject(new Error("the call was rejected"));
  handler.calls[1]?.resolve([2]);
  expect(await second).toBe(boom);

  await clock.settle();
  expect(unhandled).toEqual([]);
  expect(handler.open).toEqual([]);
});
