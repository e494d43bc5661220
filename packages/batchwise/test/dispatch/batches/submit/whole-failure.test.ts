// Tables: what happens to a batch that was refused as a whole, by what is known of its account.

import { describe, expect, test } from "vitest";
import { maySendAt, type Outage, outageOn, outageText, pauseCode } from "../../../../src/dispatch/accounts/outage.ts";
import { type Evidence, NO_EVIDENCE } from "../../../../src/dispatch/batches/batch-case.ts";
import { isLegal } from "../../../../src/dispatch/batches/life-cycle.ts";
import type { Plan } from "../../../../src/dispatch/batches/plan.ts";
import { afterWholeFailure } from "../../../../src/dispatch/batches/submit/whole-failure.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { batchRow, SEALED_AT } from "../../support/rows.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = SEALED_AT + 10_000;
const KEY = batchRow().key;
const PART = "/v1/embeddings 01ABC.a m";
const REST = "/v1/embeddings 01ABC.r m";
const error = { code: "invalid_request", message: "Invalid." };

interface Case {
  readonly batch?: Partial<BatchRow>;
  readonly evidence?: Partial<Evidence>;
  readonly code?: string;
  readonly isItsOwn?: boolean;
}

function after({ batch = {}, evidence = {}, code = error.code, isItsOwn = false }: Case, now: number = NOW): Plan {
  const row = batchRow({ state: "submitted", providerBatchId: "b", submitAttempt: 1, ...batch });
  return afterWholeFailure(
    { batch: row, evidence: { ...NO_EVIDENCE, ...evidence }, now },
    { ...error, code },
    isItsOwn,
  );
}

const outage = (changes: Partial<Outage> = {}): Outage => {
  return { code: "c", since: NOW - HOUR, pauses: 2, probe: "01XYZ.c", holdUntil: NOW - 1, ...changes };
};
const proof = { laneTakesOthers: true, accountTakesOthers: true };

describe("a batch that was refused as a whole", () => {
  test.each<[string, Case, string]>([
    ["for the first time is sent once more", {}, "sealed"],
    ["again, sends one of its requests alone", { batch: { wholeFailures: 1 } }, "canary"],
    ["as a part of another, sends one alone at once", { batch: { lane: PART } }, "canary"],
    ["while others of its lane are taken, is halved", { batch: { wholeFailures: 1 }, evidence: proof }, "split"],
    ["as too large, needs no proof", { batch: { wholeFailures: 1 }, code: "file_too_large" }, "split"],
    ["as the rest of one, waits for what became of the one alone", { batch: { lane: REST } }, "sealed"],
    ["alone, is not to blame", { batch: { requests: 1, wholeFailures: 9 } }, "sealed"],
    [
      "alone and twice as a part, ends",
      { batch: { requests: 1, wholeFailures: 1, lane: PART }, evidence: proof },
      "refuse",
    ],
    ["alone and once as a part, is sent again", { batch: { requests: 1, lane: PART }, evidence: proof }, "sealed"],
    ["alone and three times, ends", { batch: { requests: 1, wholeFailures: 2 }, evidence: proof }, "refuse"],
    [
      "alone by a fault of the provider's own, is sent again",
      { batch: { requests: 1, wholeFailures: 10 }, evidence: proof, isItsOwn: true },
      "sealed",
    ],
    [
      "alone by twelve of its own faults, ends",
      { batch: { requests: 1, wholeFailures: 11 }, evidence: proof, isItsOwn: true },
      "refuse",
    ],
  ])("%s", (_name, given, expected) => {
    const { state, disposal } = after(given);
    expect(disposal?.kind ?? state).toBe(expected);
    expect(isLegal("submitted", state)).toBe(true);
  });

  test("by itself and without proof pauses the account, longer each time, up to an hour", () => {
    const pauses = [null, 1, 2, 3, 4, 9].map((count) => {
      const known = count === null ? null : outage({ pauses: count, probe: KEY });
      const plan = after({ batch: { requests: 1, wholeFailures: 3 }, evidence: { outage: known } });
      const [pauses, until] = [(count ?? 0) + 1, plan.pauseAccountUntil ?? 0];
      // At the end of every second pause another batch has its turn.
      const mine = { probe: KEY, holdUntil: until + 10 * MINUTE };
      const isMine = pauses % 2 === 1;
      expect(plan.outage).toMatchObject({ pauses, ...(isMine ? mine : { probe: null, holdUntil: until }) });
      expect(plan.nextAt).toBe(isMine ? until : until + 10 * MINUTE);
      return ((plan.pauseAccountUntil ?? 0) - NOW) / MINUTE;
    });
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60]);
  });

  test("while another one probes the account waits for it and adds no pause", () => {
    const held = { outage: outage({ holdUntil: NOW + 7 }), pausedUntil: NOW + 3 };
    const wait = { state: "sealed", nextAt: NOW + 7, pauseAccountUntil: null, outage: null, disposal: null };
    expect(after({ evidence: held })).toMatchObject(wait);
    const probe = { outage: outage({ probe: KEY, holdUntil: NOW + 7 }), pausedUntil: NOW + 3 };
    expect(after({ evidence: probe, batch: { requests: 1 } })).toMatchObject({ ...wait, nextAt: NOW + 3 });
  });

  test("pauses no account that takes batches of other lanes: only this one waits", () => {
    const evidence = { accountTakesOthers: true };
    const plan = after({ batch: { requests: 1, wholeFailures: 1 }, evidence });
    expect(plan).toMatchObject({ state: "sealed", nextAt: NOW + 10 * MINUTE, pauseAccountUntil: null, outage: null });
    expect(after({ batch: { wholeFailures: 1 }, evidence })).toMatchObject({
      disposal: { kind: "canary" },
      outage: null,
    });
  });

  test("is put aside after two days, its own or the account's", () => {
    const days = (count: number) => ({ wholeFailures: 9, firstRefusedAt: NOW - count * 24 * HOUR });
    const own = (count: number): string => after({ batch: days(count) }).state;
    expect([own(1.9), own(2)]).toEqual(["collecting", "quarantined"]);
    const known = outage({ since: NOW - 48 * HOUR });
    expect(after({ evidence: { outage: known } }).state).toBe("quarantined");
    expect(after({ batch: days(3), evidence: proof }).disposal?.kind).toBe("split");
  });
});

describe("the outage on an account's ledger", () => {
  const ledger = {
    name: "openai",
    tokens: 0,
    requests: 0,
    batches: 0,
    learnedTokens: null,
    learnedAt: null,
    ...{ strikes: 0, note: null },
  };
  const paused = (outage: string | null, blockedUntil = 0) => ({ ...ledger, outage, blockedUntil });

  test("holds every batch but the probe, or the group that is one", () => {
    const text = outageText(outage({ probe: "01ABC.c", holdUntil: NOW + 9 }));
    expect(maySendAt(batchRow(), paused(text, NOW + 3), NOW)).toBe(NOW + 9);
    expect(maySendAt(batchRow({ lane: "/v1/embeddings 01ABC.c m" }), paused(text, NOW + 3), NOW)).toBe(NOW + 3);
    expect(maySendAt(batchRow(), undefined, NOW)).toBe(0);
  });

  test("is forgotten when no batch met it for a day", () => {
    const text = outageText(outage({ holdUntil: NOW }));
    const at = (now: number) => outageOn({ outage: text }, now)?.pauses;
    expect([at(NOW + 23 * HOUR), at(NOW + 24 * HOUR)]).toEqual([2, undefined]);
    expect(outageOn({ outage: null }, NOW)).toBe(null);
    expect([{ note: "insufficient_quota" }, { note: null }].map(pauseCode)).toEqual([
      "insufficient_quota",
      "account_paused",
    ]);
  });
});
