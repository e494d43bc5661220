// Tables over the state machine of a batch: each row is a situation that a fresh lease can find.

import { describe, expect, test } from "vitest";
import {
  createTimeoutMs,
  giveUpAt,
  isLegal,
  LIVE,
  ledgerName,
  maySend,
  nextLookAt,
  nextStep,
  TRANSITIONS,
} from "../../../src/dispatch/batches/life-cycle.ts";
import type { BatchState } from "../../../src/dispatch/contract/types.ts";
import { batchRow, SEALED_AT, stepAccount } from "../support/rows.ts";

const STATES = Object.keys(TRANSITIONS) as BatchState[];
const started = SEALED_AT + 1_000;
const end = started + 60_000 + 300_000;
const sent = { submitAttempt: 1, submitStartedAt: started, providerFileId: "file-1" } as const;
const out = { remaining: 3, cancelRequested: 3 } as const;

describe("transitions", () => {
  test("every live state has a way to done", () => {
    const reaches = new Set<BatchState>(["done"]);
    for (let round = 0; round < STATES.length; round += 1) {
      for (const state of STATES) if (TRANSITIONS[state].some((next) => reaches.has(next))) reaches.add(state);
    }
    expect(STATES.filter((state) => !reaches.has(state))).toEqual([]);
  });

  test("no step changes a batch that is done", () => {
    expect(STATES.filter((state) => isLegal("done", state))).toEqual([]);
  });

  test("a batch ends only out of collecting", () => {
    expect(STATES.filter((state) => state !== "done" && isLegal(state, "done"))).toEqual(["collecting"]);
  });

  test("every state is live, put aside or done", () => {
    expect([...LIVE, "quarantined", "done"].toSorted()).toEqual(STATES.toSorted());
  });
});

describe("the step of a fresh lease", () => {
  test.each([
    ["a sealed batch is submitted", batchRow(), {}, { kind: "submit", attempt: 1 }],
    [
      "a waiting one is its next attempt",
      batchRow({ ...sent, state: "waiting_capacity" }),
      {},
      { kind: "submit", attempt: 2 },
    ],
    ["a sealed batch that nobody wants is dropped", batchRow(out), {}, { kind: "drop" }],
    ["one that some want is submitted", batchRow({ ...out, remaining: 4 }), {}, { kind: "submit", attempt: 1 }],
    [
      "a submitter lost before its upload is written is followed by a new attempt",
      batchRow({ ...sent, state: "submitting", providerFileId: null }),
      {},
      { kind: "submit", attempt: 2 },
    ],
    [
      "without a file to go by it is looked up",
      batchRow({ ...sent, state: "submitting", providerFileId: null }),
      { tag: "none", maxInlineBytes: Infinity },
      { kind: "reconcile", since: started - 120_000, mayRecreate: false },
    ],
    [
      "a submitter lost later is looked up",
      batchRow({ ...sent, state: "submitting" }),
      {},
      { kind: "reconcile", since: started - 120_000, mayRecreate: false },
    ],
    [
      "an unknown one is looked up",
      batchRow({ ...sent, state: "unknown" }),
      {},
      { kind: "reconcile", since: started - 120_000, mayRecreate: false },
    ],
    [
      "with a token the same create is sent again",
      batchRow({ ...sent, state: "unknown" }),
      { tag: "idempotencyToken" },
      { kind: "repeat", attempt: 1 },
    ],
    ["a submitted one is polled", batchRow({ ...sent, state: "submitted" }), {}, { kind: "poll" }],
    [
      "a running one that nobody wants is cancelled",
      batchRow({ ...sent, ...out, state: "running" }),
      {},
      { kind: "cancel" },
    ],
    [
      "a guess is not ours to cancel",
      batchRow({ ...sent, ...out, state: "running", verified: false }),
      {},
      { kind: "poll" },
    ],
    ["and after that polled", batchRow({ ...sent, ...out, state: "running", cancelSentAt: 1 }), {}, { kind: "poll" }],
    ["a collecting one is collected", batchRow({ ...sent, state: "collecting" }), {}, { kind: "collect" }],
    [
      "one with a disposal is disposed of",
      batchRow({ ...sent, state: "collecting", disposal: "{}" }),
      {},
      { kind: "dispose" },
    ],
    ["a quarantined one is left alone", batchRow({ state: "quarantined" }), {}, { kind: "none" }],
    ["a finished one is left alone", batchRow({ state: "done", remaining: 0 }), {}, { kind: "none" }],
  ] as const)("%s", (_name, batch, capabilities, step) => {
    expect(nextStep(batch, stepAccount(capabilities), started + 10)).toEqual(step);
  });

  test("of an account that runs lines itself runs the open lines, cancelled or not", () => {
    const account = { ...stepAccount({ tag: "idempotencyToken" }), execute: async function* () {} };
    for (const state of ["submitted", "running"] as const) {
      for (const wanted of [{}, out]) {
        expect(nextStep(batchRow({ ...sent, ...wanted, state }), account, started)).toEqual({ kind: "execute" });
      }
    }
  });

  test("only a look that starts at or after the end of the grace may give a create up", () => {
    const batch = batchRow({ ...sent, state: "unknown" });
    expect(giveUpAt(batch, stepAccount())).toBe(end);
    expect(nextStep(batch, stepAccount(), end - 1)).toMatchObject({ mayRecreate: false });
    expect(nextStep(batch, stepAccount(), end)).toMatchObject({ mayRecreate: true });
  });
});

describe("the looks for a lost create", () => {
  const batch = batchRow({ ...sent, state: "unknown", unknownSince: started + 60_000 });

  test("come at 5, 15, 30, 60, 120 and 240 seconds and at the end of the default grace", () => {
    const seen: number[] = [];
    for (let now = started + 60_000; now < end; now = nextLookAt(batch, stepAccount(), now)) seen.push(now);
    expect(seen.map((at) => (at - started - 60_000) / 1_000)).toEqual([0, 5, 15, 30, 60, 120, 240]);
    expect(nextLookAt(batch, stepAccount(), end - 1)).toBe(end);
  });

  test("always lie ahead, also after the end and without any grace", () => {
    const none = { ...stepAccount(), reconcileGraceMs: 0 };
    for (const now of [started, started + 60_000, end, end + 5_000]) {
      expect(nextLookAt(batch, stepAccount(), now)).toBeGreaterThan(now);
      expect(nextLookAt(batch, none, now)).toBeGreaterThan(now);
    }
  });
});

test("a create is sent only while the lease covers the whole call", () => {
  expect(maySend(90_000, 30_000, 60_000)).toBe(true);
  expect(maySend(90_000, 30_001, 60_000)).toBe(false);
});

test("a create that carries its lines has time for each byte, and the grace begins after it", () => {
  const large = batchRow({ ...sent, bytes: 200_000_000 });
  expect(createTimeoutMs(large, stepAccount())).toBe(60_000);
  const inline = stepAccount({ tag: "none", maxInlineBytes: Infinity });
  expect(createTimeoutMs({ ...large, inline: null }, inline)).toBe(260_000);
  expect(giveUpAt({ ...large, inline: null }, inline)).toBe(end + 200_000);
});

test("a ledger is the account's own or one of its models", () => {
  expect(ledgerName("a", "account", "m")).toBe("a");
  expect(ledgerName("a", "model", "m")).toBe("a/m");
});
