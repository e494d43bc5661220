import type { BatchRecord, DispatcherStats } from "batchwise/dispatch";
import { describe, expect, test } from "vitest";
import {
  batchFindings,
  clockFinding,
  deadLetterFinding,
  ledgerFindings,
  limitsFinding,
  nodeFinding,
  proxyFindings,
  waitingFinding,
} from "../../../src/cli/jobs/findings.ts";

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;

const batch: BatchRecord = {
  ...{ key: "K", account: "openai", endpoint: "/v1/embeddings", model: "m", state: "running", requests: 5, bytes: 1 },
  ...{ tokens: 1, remaining: 4, createdAt: NOW - HOUR, updatedAt: NOW, submitAttempt: 1, providerBatchId: "b" },
  ...{ providerState: "in_progress", lastError: null, orphans: [] },
};
test("a proxy that Node.js does not use is named with the settings that it needs, and never its address", () => {
  const HTTPS_PROXY = "http://me:pass-word@proxy:3128";
  const of = (version: string, more: Record<string, string> = {}, options: string[] = []) =>
    proxyFindings({ HTTPS_PROXY, ...more }, version, options);
  expect(proxyFindings({}, "v24.9.0", [])).toEqual([]);
  expect(of("v24.9.0")).toMatchObject([{ level: "notice", advice: expect.stringContaining("NODE_USE_ENV_PROXY=1") }]);
  expect(of("v22.21.0", { NODE_USE_ENV_PROXY: "1" })).toMatchObject([{ level: "ok", found: "HTTPS_PROXY is used" }]);
  expect(of("v24.9.0", {}, ["--use-env-proxy"])).toMatchObject([{ level: "ok" }]);
  for (const version of ["v20.19.0", "v22.20.0", "v23.9.0"]) {
    const [finding] = of(version, { NODE_USE_ENV_PROXY: "1" });
    expect(finding).toMatchObject({ level: "notice", advice: expect.stringContaining("ProxyAgent") });
    expect(JSON.stringify(finding)).not.toContain("pass-word");
  }
});

const stats = { lanes: [], ledgers: [] } as unknown as DispatcherStats;

describe("doctor", () => {
  test.each([
    ["v24.9.0", "ok"],
    ["v22.13.0", "ok"],
    ["v20.19.0", "ok"],
    ["v20.18.3", "problem"],
    ["v18.20.0", "problem"],
  ])("says of Node.js %s: %s", (version, level) => {
    expect(nodeFinding(version).level).toBe(level);
  });

  test.each([
    [0, "ok", "agrees with the provider's"],
    [-20_000, "ok", "agrees with the provider's"],
    [60_000, "notice", "60 s ahead of the provider's"],
    [-86_400_000, "problem", "24.0 h behind the provider's"],
    [null, "notice", "the provider reports no time"],
  ])("says of a clock that is %s ms ahead: %s", (ahead, level, found) => {
    expect(clockFinding(ahead)).toMatchObject({ level, found });
  });

  test("lists quarantined batches with their reason and the command that decides about them", () => {
    const lastError = { code: "lost", message: "It is lost." };
    const aside: BatchRecord = { ...batch, state: "quarantined", lastError };
    expect(batchFindings([aside], NOW, " --store s")).toEqual([
      {
        ...{ check: "batch K", level: "problem", found: "quarantined, 4 requests wait: It is lost." },
        advice: expect.stringContaining("batchwise jobs requeue K --store s"),
      },
    ]);
  });

  test("lists batches that have not ended after 26 hours, and not before", () => {
    expect(batchFindings([batch], NOW, "")).toMatchObject([{ level: "ok", found: "1 batch open, none stuck" }]);
    const old = { ...batch, createdAt: NOW - 27 * HOUR };
    expect(batchFindings([old], NOW, "")).toMatchObject([{ level: "problem", found: "running for 27.0 h" }]);
  });

  test("lists requests that have waited longer than `maxAgeMs`", () => {
    const lane = { endpoint: "/v1/embeddings", model: "m", waiting: 3, orMore: false, bytes: 1, tokens: 1 } as const;
    const of = (oldestAt: number): ReturnType<typeof waitingFinding> =>
      waitingFinding({ ...stats, lanes: [{ ...lane, oldestAt }] }, NOW);
    expect(of(NOW - HOUR)).toMatchObject({ level: "ok" });
    expect(of(NOW - 4 * HOUR)).toMatchObject({ level: "problem", found: "3 requests, the oldest for 4.0 h" });
    expect(waitingFinding(stats, NOW)).toMatchObject({ level: "ok" });
  });

  test("says that more may wait where the count has ended at its limit", () => {
    const lane = {
      endpoint: "/v1/embeddings",
      model: "m",
      waiting: 50_000,
      orMore: true,
      bytes: 1,
      tokens: 1,
    } as const;
    const lanes = [{ ...lane, oldestAt: NOW - HOUR }];
    const found = "50,000 or more requests, the oldest for 60 min";
    expect(waitingFinding({ ...stats, lanes }, NOW)).toMatchObject({ level: "ok", found });
  });

  test("lists paused limits, dead letters, and known limits", () => {
    const ledger = { name: "openai/m", tokens: 7, requests: 1, batches: 1, learnedTokens: 90, blockedUntil: 0 };
    const paused = { ...ledger, blockedUntil: NOW + 60_000 };
    expect(ledgerFindings({ ...stats, ledgers: [ledger, paused] }, NOW)).toMatchObject([
      { level: "ok", found: "7 tokens in flight of 90 that a refusal has taught, 1 batch" },
      { level: "problem", found: "paused for 60 s more" },
    ]);
    expect(deadLetterFinding(0, false)).toMatchObject({ level: "ok" });
    expect(deadLetterFinding(100, true).found).toContain("more than 100 outcomes");
    const limits = {
      maxRequests: 50_000,
      maxBytes: 1,
      maxTokens: Infinity,
      minRequests: 1,
      maxEnqueuedTokens: Infinity,
    };
    const all = { ...limits, maxEnqueuedRequests: Infinity, maxEnqueuedBatches: Infinity };
    expect(limitsFinding(all).found).toBe("50,000 requests a batch, 1 bytes a batch");
  });
});
