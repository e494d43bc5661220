import { BatchwiseError, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { reasonOf, rig } from "../support.ts";

const ways: Record<string, [retryable: boolean, fail: () => Promise<unknown>]> = {
  QUEUE_FULL: [
    true,
    () => {
      const { batcher } = rig<number>({ maxQueueSize: 1, onFull: "reject" });
      void batcher.submit(1);
      return batcher.submit(2);
    },
  ],
  ITEM_TOO_LARGE: [false, () => rig<number>({ maxBatchCost: 1 }).batcher.submit(1, { cost: 2 })],
  DEADLINE_EXCEEDED: [true, () => rig<number>().batcher.submit(1, { timeoutMs: 0 })],
  CLOSED: [
    false,
    () => {
      const { batcher } = rig<number>();
      void batcher.close();
      return batcher.submit(1);
    },
  ],
  BATCH_RESULT: [false, () => createBatcher((): number[] => []).submit(1)],
  HANDLER_TIMEOUT: [
    true,
    () => {
      const { batcher, clock } = rig<number>({ handlerTimeoutMs: 1 });
      const result = batcher.submit(1);
      void clock.advance(1);
      return result;
    },
  ],
};

describe("an error of the batcher itself", () => {
  test.each(Object.keys(ways))("carries its code, and whether trying again makes sense: %s", async (code) => {
    const [retryable, fail] = ways[code] as (typeof ways)[string];
    const error = await reasonOf(fail());
    expect(error).toBeInstanceOf(BatchwiseError);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "BatchwiseError", code, retryable });
    expect((error as Error).message.length).toBeGreaterThan(10);
    expect((error as Error).stack).toContain("BatchwiseError");
  });
});

describe("BatchwiseError", () => {
  test("keeps its cause", () => {
    const cause = new Error("below");
    const error = new BatchwiseError({ code: "CLOSED", message: "closed", retryable: false, cause });
    expect(error.cause).toBe(cause);
    expect("cause" in new BatchwiseError({ code: "CLOSED", message: "closed", retryable: false })).toBe(false);
  });

  test("is not taken for any other error", () => {
    for (const other of [new Error("x"), { code: "CLOSED" }, null, undefined, "CLOSED", 0]) {
      expect(other instanceof BatchwiseError).toBe(false);
    }
  });

  test("may be extended, and a subclass has only its own", () => {
    class Mine extends BatchwiseError {}
    const init = { code: "CLOSED", message: "closed", retryable: false } as const;
    expect(new Mine(init) instanceof BatchwiseError).toBe(true);
    expect(new Mine(init) instanceof Mine).toBe(true);
    expect(new BatchwiseError(init) instanceof Mine).toBe(false);
  });
});
