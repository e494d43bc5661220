import type { VirtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import type { BatchOptions } from "../../../src/core/contract/options.ts";
import { Entry } from "../../../src/core/queue/entry.ts";
import type { BatchOwner } from "../../../src/core/run/batch-owner.ts";
import { type RecoveringBatch, Recovery } from "../../../src/core/run/recovery.ts";
import { Moment } from "../../../src/core/time/turn.ts";
import { range } from "../../support.ts";
import { servicesKit } from "../support/services.ts";

const failure = new Error("the handler's");

interface Kit {
  readonly clock: VirtualClock;
  readonly batch: RecoveringBatch;
  readonly recovery: Recovery<RecoveringBatch>;
  /** The entries of each call that followed, and when it may begin. */
  readonly tried: [entries: readonly Entry[], at: number][];
}

/** A batch that has made a call for these entries. */
function recoveryOf(options: BatchOptions<unknown, unknown>, count: number): Kit {
  const { services, clock } = servicesKit(options);
  const tried: Kit["tried"] = [];
  const batch: RecoveringBatch = {
    entries: entriesOf(count),
    phase: "calling",
    callMs: undefined,
    get isOver(): boolean {
      return batch.phase === "done";
    },
    noteSettled: () => {},
    start: () => tried.push([batch.entries, clock.now()]),
    end: () => {
      batch.phase = "done";
      leave(batch.entries);
    },
  };
  const owner = { services, paused: () => {}, wantsSlot: () => batch.start() };
  return { clock, batch, recovery: new Recovery(batch, owner as unknown as BatchOwner<RecoveringBatch>), tried };
}

function entriesOf(count: number): Entry[] {
  return range(count).map((item) => new Entry(item, () => {}, new Moment(0, 0), item));
}

function leave(entries: readonly Entry[]): void {
  for (const entry of entries) entry.recipient = null;
}

describe("after a call that failed", () => {
  test.each<
    [
      string,
      BatchOptions<unknown, unknown>,
      count: number,
      mayHalve: boolean,
      step: "error" | "retry" | "halves",
      pauseMs?: number,
    ]
  >([
    ["with neither `retry` nor `isolateFailures`", {}, 4, true, "error"],
    ["with attempts left", { retry: { attempts: 2 } }, 4, true, "retry"],
    ["with attempts left and a backoff", { retry: { attempts: 2, backoffMs: 30 } }, 4, true, "retry", 30],
    [
      "with attempts left, though it may be halved",
      { retry: { attempts: 2 }, isolateFailures: true },
      4,
      true,
      "retry",
    ],
    ["with its last attempt", { retry: { attempts: 1 } }, 4, true, "error"],
    [
      "with its last attempt, where it may be halved",
      { retry: { attempts: 1 }, isolateFailures: true },
      4,
      true,
      "halves",
    ],
    ["of one item", { isolateFailures: true }, 1, true, "error"],
    ["of a handler that did not open", { isolateFailures: true }, 4, false, "error"],
    ["whose callers have all left", { retry: { attempts: 2 }, isolateFailures: true }, 0, true, "error"],
  ])("%s, it follows its options", async (_case, options, count, mayHalve, step, pauseMs = 0) => {
    const { clock, batch, recovery, tried } = recoveryOf(options, count);
    const { entries } = batch;
    recovery.failed(failure, mayHalve);
    await clock.advance(100);
    const called = step === "halves" ? entries.slice(0, count / 2) : entries;
    expect(tried).toEqual(step === "error" ? [] : [[called, pauseMs]]);
    expect([batch.phase === "done", recovery.isSplit]).toEqual([step === "error", step === "halves"]);
  });

  test("a pause in the error is at least kept", async () => {
    const { clock, batch, recovery, tried } = recoveryOf({ retry: { attempts: 2, backoffMs: 30 } }, 4);
    recovery.failed(Object.assign(new Error("busy"), { retryAfterMs: 50 }), true);
    await clock.advance(100);
    expect(tried).toEqual([[batch.entries, 50]]);
  });

  test("the first half is tried before the second, halves of a half before the other, and cancelled items are not", () => {
    const { batch, recovery, tried } = recoveryOf({ isolateFailures: true }, 8);
    const { entries } = batch;
    for (let call = 0; call < 2; call += 1) recovery.failed(failure, true);
    expect(recovery.untried).toEqual([...entries.slice(4), ...entries.slice(2, 4)]);
    leave(entries.slice(0, 3));
    for (let half = 0; half < 3; half += 1) recovery.next(0);
    const called = [entries.slice(0, 4), entries.slice(0, 2), [entries[3]], entries.slice(4)];
    expect(tried.map(([half]) => half)).toEqual(called);
    expect(batch.phase).toBe("done");
  });

  test("the calls for each half are counted from 0", () => {
    const { batch, recovery, tried } = recoveryOf({ isolateFailures: true, retry: { attempts: 2 } }, 2);
    const [first, second] = batch.entries;
    for (let call = 0; call < 6; call += 1) recovery.failed(failure, true);
    expect(tried.map(([half]) => half)).toEqual([[first, second], [first], [first], [second], [second]]);
    expect(batch.phase).toBe("done");
  });

  test("the backoff of a batch that `retry.when` has ended is not computed", () => {
    let asked = 0;
    const backoffMs = (): number => {
      asked += 1;
      return 1;
    };
    const when = (): boolean => {
      batch.end();
      return true;
    };
    const { batch, recovery, tried } = recoveryOf({ retry: { attempts: 2, backoffMs, when } }, 2);
    recovery.failed(failure, true);
    expect([asked, tried]).toEqual([0, []]);
  });
});
