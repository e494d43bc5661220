// Table: which account a batch is offered to first.

import { describe, expect, test } from "vitest";
import { type AccountCandidate, batchTokens, rankAccounts } from "../../../src/dispatch/accounts/rank-accounts.ts";
import type { LedgerRow } from "../../../src/dispatch/contract/store/ledger-rows.ts";
import { SEALED_AT } from "../support/rows.ts";
import { SIM_LIMITS } from "../support/simulation/sim-provider.ts";

const NOW = SEALED_AT;

describe("accounts are tried", () => {
  const account = (name: string, tokens: number, weight = 1, models: string[] | null = null): AccountCandidate => ({
    name,
    weight,
    models,
    capabilities: {
      provider: "sim",
      endpoints: ["/v1/embeddings"],
      maxInlineBytes: 0,
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
      outage: null,
      ...changes,
    },
  ];
  const lane = { endpoint: "/v1/embeddings", group: "", model: "m" } as const;
  const order = (accounts: AccountCandidate[], ...ledgers: [string, LedgerRow][]): string[] =>
    rankAccounts(accounts, lane, new Map(ledgers), NOW).flatMap(({ account, isFull }) => (isFull ? [] : account.name));

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
