import { createBatcher, type ResolvedOptions } from "batchwise";
import { describe, expect, test } from "vitest";
import { thrownBy } from "../support.ts";

function optionsOf(options: object): ResolvedOptions {
  return createBatcher((items: number[]) => items, options).options;
}

function refusalOf(options: unknown): Error & { code: string } {
  return thrownBy(() => createBatcher((items: number[]) => items, options as never)) as Error & { code: string };
}

describe("an option that is not given", () => {
  test.each([
    ["maxBatchSize", 32],
    ["maxBatchCost", Number.POSITIVE_INFINITY],
    ["batchCost", "sum"],
    ["oversize", "reject"],
    ["maxWaitMs", 0],
    ["preferredBatchSize", 32],
    ["concurrency", 1],
    ["prefetch", 0],
    ["maxQueueSize", 10_000],
    ["onFull", "wait"],
    ["key", undefined],
    ["dedupe", undefined],
    ["cache", undefined],
    ["order", "fifo"],
    ["fairBy", undefined],
    ["smallCallFirst", 0],
    ["priorityAgingMs", 10_000],
    ["retry", undefined],
    ["isolateFailures", false],
    ["captureContext", undefined],
  ] as const)("has its default: %s is %s", (name, value) => {
    expect(optionsOf({})[name]).toBe(value);
    expect(optionsOf({ [name]: undefined })[name]).toBe(value);
  });

  test("gives every item a cost of one", () => {
    expect(optionsOf({}).cost("anything")).toBe(1);
  });

  test("sets no deadline and no time limit", () => {
    expect(optionsOf({})).toMatchObject({
      timeoutMs: Number.POSITIVE_INFINITY,
      handlerTimeoutMs: Number.POSITIVE_INFINITY,
    });
  });

  test("fills in the rest of `retry`", () => {
    const { retry } = optionsOf({ retry: { attempts: 3 } });
    expect(retry).toMatchObject({ attempts: 3, backoffMs: 0 });
    expect(retry?.when(new Error("any"))).toBe(true);
  });
});

describe("the options in force", () => {
  test("are frozen, through and through", () => {
    const options = optionsOf({ retry: { attempts: 2 } });
    expect(Object.isFrozen(options)).toBe(true);
    expect(Object.isFrozen(options.retry)).toBe(true);
  });

  test("do not follow later changes of the object they were given in", () => {
    const given = { maxBatchSize: 4, retry: { attempts: 2 } };
    const batcher = createBatcher((items: number[]) => items, given);
    given.maxBatchSize = 8;
    given.retry.attempts = 9;
    expect(batcher.options.maxBatchSize).toBe(4);
    expect(batcher.options.retry?.attempts).toBe(2);
  });

  test("let `preferredBatchSize` be anything from 1 to `maxBatchSize`", () => {
    expect(optionsOf({ maxBatchSize: 8, preferredBatchSize: 1 }).preferredBatchSize).toBe(1);
    expect(optionsOf({ maxBatchSize: 8, preferredBatchSize: 8 }).preferredBatchSize).toBe(8);
    expect(optionsOf({ maxBatchSize: 8 }).preferredBatchSize).toBe(8);
    expect(refusalOf({ maxBatchSize: 8, preferredBatchSize: 9 })).toBeInstanceOf(RangeError);
  });

  test("let `concurrency` and `maxQueueSize` be unbounded only when that is written down", () => {
    const { concurrency, maxQueueSize } = optionsOf({
      concurrency: Number.POSITIVE_INFINITY,
      maxQueueSize: Number.POSITIVE_INFINITY,
    });
    expect([concurrency, maxQueueSize]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });
});

const functions = ["cost", "key", "dedupe", "fairBy", "captureContext", "random"] as const;

describe("an option of the wrong type", () => {
  test.each<[name: string, value: unknown]>([
    ["maxBatchSize", "32"],
    ["maxBatchCost", "big"],
    ["batchCost", 3],
    ["oversize", true],
    ["maxWaitMs", "5"],
    ["preferredBatchSize", null],
    ["concurrency", [2]],
    ["prefetch", "1"],
    ["maxQueueSize", {}],
    ["onFull", 1],
    ["cache", "memory"],
    ["cache", { get: () => undefined }],
    ["order", 1],
    ["smallCallFirst", "4"],
    ["priorityAgingMs", "slow"],
    ["timeoutMs", "100"],
    ["handlerTimeoutMs", []],
    ["retry", 3],
    ["retry", {}],
    ["retry", { attempts: "3" }],
    ["retry", { attempts: 3, backoffMs: "1" }],
    ["retry", { attempts: 3, when: true }],
    ["isolateFailures", 1],
    ["name", 7],
    ["clock", {}],
    ["clock", null],
    ...functions.map((name): [string, unknown] => [name, "not a function"]),
  ])("is refused with a TypeError: %s as %j", (name, value) => {
    const error = refusalOf({ dedupe: String, [name]: value });
    expect(error.constructor).toBe(TypeError);
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.message).toContain(`\`${name}`);
  });

  test.each([null, 3, "fast", [], true])("is refused also where it is the options themselves: %j", (options) => {
    expect(refusalOf(options)).toBeInstanceOf(TypeError);
    expect(refusalOf(options).code).toBe("INVALID_OPTION");
  });
});

describe("an option out of range", () => {
  test.each([
    ["maxBatchSize", 0],
    ["maxBatchSize", -1],
    ["maxBatchSize", 1.5],
    ["maxBatchSize", Number.NaN],
    ["maxBatchCost", 0],
    ["maxBatchCost", -1],
    ["maxBatchCost", Number.NaN],
    ["batchCost", "product"],
    ["oversize", "split"],
    ["maxWaitMs", -1],
    ["maxWaitMs", Number.NaN],
    ["preferredBatchSize", 0],
    ["preferredBatchSize", 33],
    ["concurrency", 0],
    ["concurrency", 0.5],
    ["prefetch", -1],
    ["prefetch", Number.POSITIVE_INFINITY],
    ["maxQueueSize", 0],
    ["maxQueueSize", 2.5],
    ["onFull", "drop-newest"],
    ["order", "lifo"],
    ["order", "shortest"],
    ["smallCallFirst", -1],
    ["priorityAgingMs", 0],
    ["timeoutMs", 0],
    ["timeoutMs", -5],
    ["handlerTimeoutMs", 0],
    ["retry", { attempts: 0 }],
    ["retry", { attempts: 1.5 }],
    ["retry", { attempts: 2, backoffMs: -1 }],
  ])("is refused with a RangeError: %s as %j", (name, value) => {
    const error = refusalOf({ [name]: value });
    expect(error.constructor).toBe(RangeError);
    expect(error.code).toBe("INVALID_OPTION");
  });

  test("names the expected and the actual value", () => {
    expect(refusalOf({ maxBatchSize: 0 }).message).toBe(
      "Expected `maxBatchSize` to be an integer >= 1 or Infinity, got `0` (number)",
    );
  });

  test("names the cap that `preferredBatchSize` is measured against", () => {
    expect(refusalOf({ preferredBatchSize: 9, maxBatchSize: 8 }).message).toContain("`maxBatchSize` (8)");
  });
});

describe("an option that does not exist", () => {
  test("is refused, with the name that was probably meant", () => {
    const error = refusalOf({ maxBatchsize: 8 });
    expect(error.constructor).toBe(TypeError);
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.message).toBe("Unknown option `maxBatchsize`, did you mean `maxBatchSize`?");
  });

  test.each([
    ["maxWaitMss", "maxWaitMs"],
    ["concurency", "concurrency"],
    ["timeoutM", "timeoutMs"],
    ["keys", "key"],
  ])("is traced back from a slip: %s", (name, meant) => {
    expect(refusalOf({ [name]: 1 }).message).toBe(`Unknown option \`${name}\`, did you mean \`${meant}\`?`);
  });

  test("gets the names that there are when nothing is near", () => {
    const { message } = refusalOf({ parallelExecutionStrategy: 1 });
    expect(message).toMatch(
      /^Unknown option `parallelExecutionStrategy`\. Expected one of maxBatchSize, preferredBatchSize, .*, random$/,
    );
  });

  test("is found in the spelling of other languages, too", () => {
    expect(refusalOf({ max_batch_size: 1 }).message).toBe(
      "Unknown option `max_batch_size`: it is `maxBatchSize` here: the most items of a batch",
    );
    expect(refusalOf({ cacheKey: String }).message).toContain("it is `dedupe` here");
    expect(refusalOf({ batch_size: 1 }).message).toContain("it is `maxBatchSize` here");
  });

  test("is refused inside `retry` too", () => {
    expect(refusalOf({ retry: { attempts: 2, backoff: 5 } }).message).toBe(
      "Unknown option `retry.backoff`, did you mean `retry.backoffMs`?",
    );
    const says = "Unknown option `retry.retries`: it is `retry.attempts` here: it counts the first call";
    expect(refusalOf({ retry: { retries: 3 } }).message).toBe(says);
    expect(refusalOf({ retry: {} }).message).toContain("Expected `retry.attempts` to be an integer >= 1");
  });

  test("is refused even when its value is undefined", () => {
    expect(refusalOf({ maxBatchsize: undefined })).toBeInstanceOf(TypeError);
  });
});

describe("options that need one another", () => {
  test("are refused apart: `cache` without `dedupe` has no key to look up", () => {
    const error = refusalOf({ cache: new Map() });
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.message).toContain("`dedupe`");
  });
});
