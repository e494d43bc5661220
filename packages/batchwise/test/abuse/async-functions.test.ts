import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

interface Report {
  readonly fates: readonly unknown[];
  readonly warnings?: readonly string[];
}

const child = fileURLToPath(new URL("./fixtures/async-functions.mjs", import.meta.url));
const library = new URL("../../src/index.ts", import.meta.url).href;

/** Observations of one process that an unhandled rejection would have ended. */
function reportOf(): Readonly<Record<string, Report>> {
  const flags = ["--no-warnings", "--unhandled-rejections=strict"];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, child, library], {
    encoding: "utf8",
    timeout: 120_000,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, Report>;
}

describe("an async function that rejects, where a synchronous one is expected", () => {
  const report = reportOf();

  test.each([
    "cost",
    "key",
    "dedupe",
    "fairBy",
    "estimateTokens",
    "cost of a call",
    "priority of a call",
    "tokens of a call",
    "batchCost of one",
  ])("fails only that item with INVALID_OPTION and causes no unhandled rejection: %s", (name) => {
    expect(report[name]).toEqual({ fates: [1, "INVALID_OPTION", 3], warnings: [] });
  });

  test.each(["batchCost of several", "batchCost without a cap", "captureContext"])("fails no caller: %s", (name) => {
    expect(report[name]).toEqual({ fates: [1, 2, 3], warnings: [] });
  });

  test.each([
    ["retry.when", "RETRY_FAILED"],
    ["retry.when that resolves", "RETRY_FAILED"],
    ["retry.backoffMs", "RETRY_FAILED"],
    ["limiter", "LIMITER_FAILED"],
  ])("gives callers the handler's error, with a warning: %s", (name, code) => {
    const fates = ["the handler's", "the handler's", "the handler's"];
    expect(report[name]).toEqual({ fates, warnings: [code] });
  });

  test.each(["cache.get", "cache.set"])("is a failure of the cache, with a warning: %s", (name) => {
    expect(report[name]).toEqual({ fates: [1, 2, 3], warnings: ["CACHE_FAILED"] });
  });

  test.each(["prepareItem", "prepareItem behind a look-up"])(
    "fails its item with the promise's own reason, where a promise is allowed: %s",
    (name) => {
      expect(report[name]).toEqual({ fates: [1, "of an async function", 3], warnings: [] });
    },
  );

  test("is not called where the cache has the answer", () => {
    expect(report["prepareItem of what is cached"]).toEqual({ fates: [1, 2, 3], warnings: [] });
  });

  test("fails no caller as a listener, and fails a stream like any item", () => {
    expect(report.listeners).toEqual({ fates: [1] });
    expect(report.stream).toEqual({ fates: ["INVALID_OPTION"] });
  });
});
