// Tables over the dispatcher's pure decisions: when a lane closes, which account takes a batch, what a result line
// means, which provider batch is adopted, how members end without results, what the sweeper stops.

import { describe, expect, test } from "vitest";
import type { ProviderBatch, ResultLine } from "../../../src/dispatch/contract/account.ts";
import type { BatchRow, LaneRow, LedgerRow } from "../../../src/dispatch/contract/rows.ts";
import { decideAdoption } from "../../../src/dispatch/decide/adoption.ts";
import { absentLine, classifyFailure, type RetryRules } from "../../../src/dispatch/decide/classify-results.ts";
import { type AccountCandidate, batchTokens, rankAccounts } from "../../../src/dispatch/decide/rank-accounts.ts";
import { closesAt, mostUrgentFirst } from "../../../src/dispatch/decide/thresholds.ts";
import type { Disposal } from "../../../src/dispatch/format/payload.ts";
import { disposalOf } from "../../../src/dispatch/steps/dispose.ts";
import { onBeat } from "../../../src/dispatch/steps/poll.ts";
import { isDuplicate, isNeeded } from "../../../src/dispatch/steps/sweep.ts";
import { batchRow, SEALED_AT } from "../support/rows.ts";
import { SIM_LIMITS } from "../support/sim-provider.ts";

const NOW = SEALED_AT;
const MINUTE = 60_000;

describe("a lane closes", () => {
  const caps = { maxRequests: 10, maxBytes: 1_000, maxTokens: 500 };
  const lane = (changes: Partial<LaneRow>): LaneRow => ({
    lane: "/v1/embeddings  m",
    ready: 1,
    bytes: 10,
    tokens: 5,
    oldestAt: NOW - MINUTE,
    readySince: NOW - MINUTE,
    deadlineAt: null,
    deferredUntil: null,
    ...changes,
  });
  test.each([
    ["at its oldest request's age", {}, NOW + 4 * MINUTE],
    ["now at its count", { ready: 10 }, NOW],
    ["now at its bytes", { bytes: 1_000 }, NOW],
    ["now at its tokens", { tokens: 500 }, NOW],
    ["a minute before its first deadline", { deadlineAt: NOW + 3 * MINUTE }, NOW + 2 * MINUTE],
    ["now as a part of a split batch", { lane: "/v1/embeddings KEY.a m" }, NOW],
    ["at the age of a retry from when it could go", { oldestAt: NOW - 60 * MINUTE }, NOW + 4 * MINUTE],
    ["when its retries are due", { ready: 0, oldestAt: null, readySince: null, deferredUntil: NOW + 7 }, NOW + 7],
    ["never while nothing is in it", { ready: 0, oldestAt: null, readySince: null }, Number.POSITIVE_INFINITY],
  ])("%s", (_name, changes, at) => {
    expect(closesAt(lane(changes), caps, 5 * MINUTE, NOW)).toBe(at);
  });

  const flushed = { oldestAt: NOW - 2 * MINUTE, readySince: NOW - MINUTE / 2 };
  test.each([
    ["now, whatever is still to come", { readySince: NOW - MINUTE, deferredUntil: NOW + 7 }, NOW],
    ["now as the last of its retries", flushed, NOW],
    [
      "a minute after its first retry, while others are to come",
      { ...flushed, deferredUntil: NOW + MINUTE },
      NOW + MINUTE / 2,
    ],
    ["at its age when it came later", { oldestAt: NOW - MINUTE / 2, readySince: NOW - MINUTE / 2 }, NOW + 4.5 * MINUTE],
  ])("after a flush a minute ago %s", (_name, changes, at) => {
    expect(closesAt(lane(changes), caps, 5 * MINUTE, NOW, NOW - MINUTE)).toBe(at);
  });

  test("in the order in which lanes press: by age, or by a deadline before that", () => {
    const lanes = [
      lane({ lane: "later", readySince: null }),
      lane({ lane: "young", readySince: NOW - 2 }),
      lane({ lane: "old", readySince: NOW - 3 * MINUTE }),
      lane({ lane: "due", readySince: NOW - 1, deadlineAt: NOW + 2 * MINUTE }),
    ];
    const inOrder = (maxAgeMs: number) => mostUrgentFirst(lanes, maxAgeMs).map((row) => row.lane);
    expect(inOrder(5 * MINUTE)).toEqual(["due", "old", "young", "later"]);
    expect(inOrder(Number.POSITIVE_INFINITY)).toEqual(["due", "old", "young", "later"]);
  });
});

describe("accounts are asked", () => {
  const account = (name: string, tokens: number, weight = 1, models: string[] | null = null): AccountCandidate => ({
    name,
    weight,
    models,
    capabilities: {
      provider: "sim",
      endpoints: ["/v1/embeddings"],
      input: "file",
      tag: "metadata",
      list: { paged: true, pageSize: 10, newestFirst: true },
      listsFiles: false,
      ledgerScope: "model",
      limits: { ...SIM_LIMITS, maxEnqueuedTokens: tokens },
    },
  });
  const ledger = (name: string, changes: Partial<LedgerRow>): [string, LedgerRow] => [
    name,
    {
      name,
      tokens: 0,
      requests: 0,
      batches: 0,
      learnedTokens: null,
      learnedAt: null,
      blockedUntil: 0,
      strikes: 0,
      note: null,
      ...changes,
    },
  ];
  const lane = { endpoint: "/v1/embeddings", group: "", model: "m" } as const;
  const order = (accounts: AccountCandidate[], ...ledgers: [string, LedgerRow][]): string[] =>
    rankAccounts(accounts, lane, new Map(ledgers), NOW).map((choice) => choice.account.name);

  test.each([
    [
      "by the share of their limit that is free",
      order([account("a", 100), account("b", 1_000)], ledger("a/m", { tokens: 20 }), ledger("b/m", { tokens: 100 })),
      ["b", "a"],
    ],
    [
      "by their weight",
      order([account("a", 100), account("b", 100, 3)], ledger("a/m", { tokens: 20 }), ledger("b/m", { tokens: 50 })),
      ["b", "a"],
    ],
    [
      "by the tokens in flight where there is no limit",
      order([account("a", Infinity), account("b", Infinity)], ledger("a/m", { tokens: 9 })),
      ["b", "a"],
    ],
    ["never while their ledger is full", order([account("a", 100)], ledger("a/m", { tokens: 100 })), []],
    [
      "never over a limit that was learned",
      order([account("a", 100)], ledger("a/m", { tokens: 50, learnedTokens: 50 })),
      [],
    ],
    ["never while their ledger is blocked", order([account("a", 100)], ledger("a/m", { blockedUntil: NOW + 1 })), []],
    ["never while they are paused", order([account("a", 100)], ledger("a", { blockedUntil: NOW + 1 })), []],
    ["again when the pause is over", order([account("a", 100)], ledger("a", { blockedUntil: NOW })), ["a"]],
    ["only for models that they serve", order([account("a", 100, 1, ["n"]), account("b", 100, 1, ["m"])]), ["b"]],
  ])("%s", (_name, got, expected) => {
    expect(got).toEqual(expected);
  });

  test("a batch takes half of a known limit at first, and the whole for a large request", () => {
    expect(batchTokens(1_000, 100)).toEqual({ first: 50, most: 100 });
    expect(batchTokens(30, 100)).toEqual({ first: 30, most: 30 });
    expect(batchTokens(1_000, Infinity)).toEqual({ first: 1_000, most: 1_000 });
  });
});

describe("a line that is no success", () => {
  const rules: RetryRules = { attempts: 3, backoffMs: 1_000, maxBackoffMs: 60_000, lane: "l" };
  const line = (statusCode: number | null, code?: string): ResultLine => ({
    customId: "c",
    response: statusCode === null ? null : { statusCode, body: { error: { code: "told", message: "Why." } } },
    error: code === undefined ? null : { code, message: "m" },
    usage: null,
  });
  const back = (code: string, wait: number) => ({ kind: "requeue", code, charged: true, notBefore: NOW + wait });
  const final = (status: string) => ({ kind: "final", status, charged: true });
  const unpaid = { kind: "requeue", charged: false, notBefore: NOW };
  const money: ResultLine = {
    ...line(429),
    response: { statusCode: 429, body: { error: { code: "insufficient_quota", message: "No money." } } },
  };
  test.each([
    ["of the provider's fault goes back", line(500), 0, false, back("told", 1_000)],
    ["waits longer the second time", line(500), 1, false, back("told", 2_000)],
    ["fails at its last try", line(500), 2, false, final("failed")],
    ["of a rate limit goes back", line(429), 0, false, back("told", 1_000)],
    ["of the request's own fault fails", line(400), 0, false, final("failed")],
    ["of an unknown model fails", line(404), 0, false, final("failed")],
    ["without any reason goes back", line(null), 0, false, back("missing_result", 1_000)],
    ["that says why it did not run goes back", line(null, "batch_expired"), 0, false, back("batch_expired", 1_000)],
    ["that expired every time ends as expired", line(null, "batch_expired"), 2, false, final("expired")],
    ["that says that there is no money goes back uncharged", line(429, "insufficient_quota"), 2, false, unpaid],
    ["that says so in its answer does too", money, 2, false, unpaid],
    ["with a code that will not change fails", line(null, "content_policy_violation"), 0, false, final("failed")],
    ["of a request that wants out goes back, to end there", line(400), 2, true, back("told", 4_000)],
  ])("%s", (_name, given, attempts, cancelRequested, expected) => {
    expect(classifyFailure({ ord: 4, attempts, cancelRequested }, given, rules, NOW)).toMatchObject(expected);
  });

  test("keeps the provider's words", () => {
    const decision = classifyFailure({ ord: 0, attempts: 0, cancelRequested: false }, line(400), rules, NOW);
    const payload = decision.kind === "final" ? (JSON.parse(decision.payload) as object) : {};
    expect(payload).toMatchObject({ response: { statusCode: 400 }, error: { code: "told", message: "Why." } });
  });

  test("that never came is named after how the batch ended", () => {
    const codes = (["done", "expired", "cancelled"] as const).map((state) => absentLine(state).error?.code);
    expect(codes).toEqual(["missing_result", "batch_expired", "batch_cancelled"]);
  });
});

const seen = (id: string, changes: Partial<ProviderBatch> = {}): ProviderBatch => ({
  id,
  state: "running",
  rawState: "in_progress",
  createdAt: NOW,
  expiresAt: null,
  tag: null,
  inputFileId: null,
  total: 10,
  settled: null,
  resultRefs: [],
  failure: null,
  ...changes,
});
const lost = batchRow({ state: "unknown", submitStartedAt: NOW, providerFileId: "file-1" });
const ours = { tag: { key: lost.key, attempt: 1 } };

describe("of what a listing shows", () => {
  const look = (listed: ProviderBatch[], known: string[] = [], isLast = false) => ({
    listed,
    known: new Set(known),
    since: NOW - MINUTE,
    isLast,
  });
  const orphaned = (id: string): BatchRow => ({
    ...lost,
    orphans: [{ providerBatchId: id, seenAt: 0, action: "ended" }],
  });
  test.each([
    ["the one with our key is adopted", lost, "metadata", look([seen("x"), seen("a", ours)]), "a"],
    ["the one of our file is adopted", lost, "inputFile", look([seen("a", { inputFileId: "file-1" })]), "a"],
    [
      "of two with our key the older is kept",
      lost,
      "metadata",
      look([seen("b", ours), seen("a", { ...ours, createdAt: NOW - 1 })]),
      "a",
    ],
    [
      "of two the one that did not fail is kept",
      lost,
      "metadata",
      look([seen("a", { ...ours, state: "failed", createdAt: 1 }), seen("b", ours)]),
      "b",
    ],
    ["an earlier attempt that ended is not taken again", orphaned("a"), "metadata", look([seen("a", ours)]), "absent"],
    [
      "nothing of ours is nothing",
      lost,
      "metadata",
      look([seen("x", { tag: { key: "other", attempt: 1 } })]),
      "absent",
    ],
    ["the one unknown of our size is guessed", lost, "none", look([seen("a"), seen("x", { total: 9 })]), "a"],
    ["a known one is no guess", lost, "none", look([seen("a")], ["a"]), "absent"],
    ["one from before is no guess", lost, "none", look([seen("a", { createdAt: NOW - 2 * MINUTE })]), "absent"],
    ["of two nothing is guessed while there is time", lost, "none", look([seen("a"), seen("b")]), "undecided"],
    [
      "of two the nearest is guessed at last",
      lost,
      "none",
      look([seen("a", { createdAt: NOW + 9 }), seen("b")], [], true),
      "b",
    ],
    [
      "one whose size is not told yet is waited for",
      lost,
      "none",
      look([seen("a", { total: null })], [], true),
      "undecided",
    ],
    ["one that was given back is no guess again", orphaned("a"), "none", look([seen("a")]), "absent"],
  ] as const)("%s", (_name, batch, tag, given, expected) => {
    const decision = decideAdoption(batch, tag, given);
    expect(decision.kind === "adopt" ? decision.batch.id : decision.kind).toBe(expected);
  });

  test("a guess says that it is one, and the others of our key are named", () => {
    expect(decideAdoption(lost, "none", look([seen("a")]))).toMatchObject({ verified: false, extras: [] });
    const both = look([seen("a", ours), seen("b", { ...ours, createdAt: NOW + 1 })]);
    expect(decideAdoption(lost, "metadata", both)).toMatchObject({ verified: true, extras: [{ id: "b" }] });
  });
});

describe("the sweeper", () => {
  const running = batchRow({ state: "running", providerBatchId: "a", submitAttempt: 2, providerFileId: "file-2" });
  test.each([
    ["leaves the one of record", running, seen("a", ours), false],
    ["stops another with its key", running, seen("b", ours), true],
    [
      "leaves what was noted before",
      { ...running, orphans: [{ providerBatchId: "b", seenAt: 0, action: "ended" }] },
      seen("b", ours),
      false,
    ],
    [
      "leaves what somebody is looking for",
      { ...running, state: "unknown", providerBatchId: null },
      seen("b", ours),
      false,
    ],
    [
      "stops one of a batch that is to be sent anew",
      { ...running, state: "sealed", providerBatchId: null },
      seen("b", ours),
      true,
    ],
    ["leaves strangers", running, seen("b"), false],
  ] as const)("%s", (_name, batch, provider, expected) => {
    expect(isDuplicate(batch as BatchRow, provider)).toBe(expected);
  });

  test.each([
    ["the file of record", running, { fileId: "file-2", attempt: 1 }, true],
    ["an upload that may be under way", running, { fileId: "file-3", attempt: 2 }, true],
    ["one of an earlier attempt", running, { fileId: "file-1", attempt: 1 }, false],
    ["one of a batch that is done", { ...running, state: "done" }, { fileId: "file-2", attempt: 2 }, false],
  ] as const)("keeps or deletes %s", (_name, batch, file, expected) => {
    expect(isNeeded(batch as BatchRow, file)).toBe(expected);
  });
});

describe("members of a batch without results", () => {
  const batch = batchRow({ requests: 5 });
  const error = { code: "c", message: "m" };
  const of = (disposal: Disposal, ord: number) => disposalOf(batch, disposal, NOW)(ord);
  test("go back to their lane, uncharged", () => {
    const back = { kind: "requeue", code: "c", charged: false, notBefore: 0, lane: batch.lane };
    expect(of({ kind: "requeue", code: "c" }, 3)).toEqual({ ord: 3, ...back });
  });
  test("go back in two groups, the larger one first", () => {
    const lanes = [0, 2, 3, 4].map((ord) => {
      const decision = of({ kind: "split", error }, ord);
      return decision.kind === "requeue" ? decision.lane : decision.kind;
    });
    const group = (half: string): string => `/v1/chat/completions ${batch.key}.${half} gpt-4o-mini`;
    expect(lanes).toEqual([group("a"), group("a"), group("b"), group("b")]);
  });
  test("fail where they are to blame, and only there", () => {
    const faults: Disposal = { kind: "faults", lines: [{ line: 2, ...error }] };
    expect(of(faults, 1)).toMatchObject({ kind: "final", status: "failed", charged: true });
    expect(of(faults, 2)).toMatchObject({ kind: "requeue", charged: false });
    expect(of({ kind: "refuse", error }, 0)).toMatchObject({ kind: "final", status: "failed" });
  });

  test("are decided without a search for each through all that are to blame", () => {
    let reads = 0;
    const lines = Array.from({ length: 1_000 }, (_, index) => ({
      ...error,
      get line() {
        reads += 1;
        return index * 2 + 1;
      },
    }));
    const decide = disposalOf(batchRow({ requests: 2_000 }), { kind: "faults", lines }, NOW);
    const decisions = Array.from({ length: 2_000 }, (_, ord) => decide(ord).kind);
    expect(decisions.filter((kind) => kind === "final").length).toBe(1_000);
    expect(reads).toBeLessThanOrEqual(2_000);
  });
});

test("polls come on the account's beat, never early", () => {
  expect([onBeat(1, 30), onBeat(30, 30), onBeat(31, 30)]).toEqual([30, 30, 60]);
});
