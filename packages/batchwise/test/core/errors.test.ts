import { runInNewContext } from "node:vm";
import { expect, describe as suite, test } from "vitest";
import {
  BatchwiseError,
  batchResultError,
  deadlineError,
  describe,
  handlerTimeoutError,
  isError,
  itemTooLargeError,
  queueFullError,
  resultLength,
} from "../../src/core/contract/errors.ts";

suite("messages of errors", () => {
  const table: [string, BatchwiseError, RegExp, boolean][] = [
    ["QUEUE_FULL", queueFullError("batch", 7), /\b7\b.*maxQueueSize/, true],
    ["ITEM_TOO_LARGE", itemTooLargeError("batch", 12, 10), /\b12\b.*maxBatchCost 10/, false],
    ["DEADLINE_EXCEEDED", deadlineError("batch", 250), /\b250 ms\b/, true],
    ["HANDLER_TIMEOUT", handlerTimeoutError("batch", 30, 4), /batch of 4 within 30 ms/, true],
    ["BATCH_RESULT", batchResultError("batch", [1, 2], 3), /\b3 results\b.*got 2/, false],
    ["BATCH_RESULT", batchResultError("batch", undefined, 3), /array of 3 results.*got `undefined`/, false],
  ];
  test.each(table)("%s names its numbers and whether a retry may help", (code, error, message, retryable) => {
    expect(error).toMatchObject({ code, retryable, name: "BatchwiseError" });
    expect(error).toBeInstanceOf(BatchwiseError);
    expect(error.message).toMatch(message);
  });
});

suite("isError", () => {
  const table: [string, unknown, boolean][] = [
    ["an error", new TypeError("x"), true],
    ["an error of another realm", runInNewContext("new Error('x')"), true],
    ["a clone of an error", structuredClone(new Error("x")), true],
    ["a DOMException of another realm", { message: "x", [Symbol.toStringTag]: "DOMException" }, true],
    ["an object with a message", { message: "x", name: "Error" }, false],
    ["a text", "Error: x", false],
    ["null", null, false],
  ];
  test.each(table)("%s", (_name, value, isOne) => {
    expect(isError(value)).toBe(isOne);
  });
});

suite("resultLength", () => {
  const revoked = Proxy.revocable([], {});
  revoked.revoke();
  const table: [string, unknown, number | undefined][] = [
    ["an array", [1, 2, 3], 3],
    ["an empty array", [], 0],
    ["an array with holes", new Array(4), 4],
    ["numbers", new Float32Array(5), 5],
    ["big numbers", new BigInt64Array(2), 2],
    ["an array of another realm", runInNewContext("[1, 2]"), 2],
    ["a view of bytes", new DataView(new ArrayBuffer(8)), undefined],
    ["an array-like", { length: 3 }, undefined],
    ["a text", "abc", undefined],
    ["a set", new Set([1]), undefined],
    ["nothing", undefined, undefined],
    ["a proxy that is revoked", revoked.proxy, undefined],
  ];
  test.each(table)("%s", (_name, value, length) => {
    expect(resultLength(value)).toBe(length);
  });
});

suite("describe", () => {
  const unreadable = Object.defineProperty({}, "constructor", {
    get() {
      throw new Error("no");
    },
  });
  const table: [string, () => unknown][] = [
    ["`0` (number)", () => 0],
    ["`abc` (string)", () => "abc"],
    [`\`${"x".repeat(80)}...\` (string)`, () => "x".repeat(200)],
    ["`Symbol(s)` (symbol)", () => Symbol("s")],
    ["`undefined`", () => undefined],
    ["`null`", () => null],
    ["a function", () => () => 1],
    ["an object (Map)", () => new Map()],
    ["an object (without a class)", () => Object.create(null)],
    ["an object (without a class)", () => unreadable],
  ];
  test.each(table)("says shortly, and without throwing: %s", (text, make) => {
    expect(describe(make())).toBe(text);
  });
});
