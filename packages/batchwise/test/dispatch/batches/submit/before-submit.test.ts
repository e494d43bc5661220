// Table: whether a batch may be sent, by what is paused, for how long, and what else is free.

import { expect, test } from "vitest";
import { type Outage, outageText } from "../../../../src/dispatch/accounts/outage.ts";
import { accountMark, laneMark, type Pauses, pausesOf } from "../../../../src/dispatch/accounts/pauses.ts";
import { beforeSubmit, type Gate, type SubmitView } from "../../../../src/dispatch/batches/submit/before-submit.ts";
import type { LedgerRow } from "../../../../src/dispatch/contract/store/ledger-rows.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { batchRow, SEALED_AT } from "../../support/rows.ts";

const NOW = SEALED_AT + 10_000;
const paused = JSON.stringify({ since: 1, reason: "r" });
const NOTHING: Pauses = pausesOf([]);
const ACCOUNT = pausesOf([{ name: accountMark(batchRow().account), value: paused }]);
const LANE = pausesOf([{ name: laneMark({ endpoint: "/v1/embeddings", model: "m" }), value: paused }]);
const ready = { submitAttempt: 0, lane: "/v1/embeddings - m" } as const;

interface Case {
  readonly batch?: Partial<BatchRow>;
  readonly pauses?: Pauses;
  readonly blockedUntil?: number;
  readonly outage?: Partial<Outage>;
  readonly view?: Partial<SubmitView>;
}

function gate({ batch = {}, pauses = NOTHING, blockedUntil = 0, outage, view = {} }: Case): Gate {
  const held = outage === undefined ? null : { code: "c", since: 1, pauses: 1, probe: null, holdUntil: NOW, ...outage };
  const booked = { tokens: 0, requests: 0, batches: 0, learnedTokens: null, learnedAt: null, strikes: 0, note: "n" };
  const ledger: LedgerRow = { name: "a", ...booked, blockedUntil, outage: held && outageText(held) };
  const row = batchRow({ ...ready, ...batch });
  return beforeSubmit({ batch: row, pauses, ledger, hasToken: false, mayMove: () => false, now: NOW, ...view });
}

const move = { mayMove: () => true };
const unresolved = { state: "submitting", unknownSince: NOW - 1 } as const;

test.each<[string, Case, Partial<Gate>]>([
  ["nothing in its way", {}, { kind: "open", outage: null }],
  ["an account that an operator has paused", { pauses: ACCOUNT }, { kind: "wait", by: "operator", isUnmade: false }],
  ["such an account, and another free", { pauses: ACCOUNT, view: move }, { kind: "requeue", code: "account_paused" }],
  ["a paused lane: no other account helps", { pauses: LANE, view: move }, { kind: "wait", by: "operator" }],
  ["a pause, and a create that did not happen", { pauses: LANE, batch: unresolved }, { kind: "wait", isUnmade: true }],
  [
    "a pause, and a create that may have happened",
    { pauses: LANE, batch: unresolved, view: { hasToken: true } },
    { kind: "wait", isUnmade: false },
  ],
  ["an account that waits", { blockedUntil: NOW + 5 }, { kind: "wait", by: "account", until: NOW + 5 }],
  ["such an account, and another free", { blockedUntil: NOW + 5, view: move }, { kind: "requeue", code: "n" }],
  [
    "such an account, and a create that may run",
    { blockedUntil: NOW + 5, view: move, batch: unresolved },
    { kind: "wait", until: NOW + 5 },
  ],
  ["an outage in which another finds out", { outage: { holdUntil: NOW + 7 } }, { kind: "wait", until: NOW + 7 }],
  ["an outage, and its turn", { outage: {} }, { kind: "canary", error: expect.objectContaining({ code: "c" }) }],
  ["the same with one request", { outage: {}, batch: { requests: 1 } }, { kind: "open", outage: expect.anything() }],
  ["an outage whose probe it is", { outage: { probe: batchRow().key } }, { kind: "open", outage: null }],
])("%s", (_name, given, expected) => {
  expect(gate(given)).toMatchObject(expected);
});
