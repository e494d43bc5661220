import { describe, expect, test } from "vitest";
import type { BatchOptions } from "../../../src/core/contract/options.ts";
import { Entry } from "../../../src/core/queue/entry.ts";
import type { BatchOwner } from "../../../src/core/run/batch-owner.ts";
import { type NextStep, type RecoveringBatch, Recovery } from "../../../src/core/run/recovery.ts";
import { Moment } from "../../../src/core/time/turn.ts";
import { range } from "../../support.ts";
import { servicesKit } from "../support/services.ts";

const failure = new Error("the handler's");

/** A batch that has made a call for these entries. */
class Called implements RecoveringBatch {
  entries: readonly Entry[];
  phase: RecoveringBatch["phase"] = "calling";
  callMs: number | undefined = undefined;
  noteSettled = (): void => {};
  start = (): void => {};

  constructor(count: number) {
    this.entries = entriesOf(count);
  }

  end = (): void => {
    this.phase = "done";
    this.entries = [];
  };
}

interface Kit {
  readonly batch: Called;
  readonly recovery: Recovery<Called>;
}

function recoveryOf(options: BatchOptions<unknown, unknown>, count: number): Kit {
  const batch = new Called(count);
  const { services } = servicesKit(options);
  return { batch, recovery: new Recovery(batch, { services } as BatchOwner<Called>) };
}

function entriesOf(count: number): Entry[] {
  return range(count).map((item) => new Entry(item, () => {}, new Moment(0, 0), item));
}

function leave(entries: readonly Entry[]): void {
  for (const entry of entries) entry.recipient = null;
}

describe("after a call that failed", () => {
  test.each<
    [string, BatchOptions<unknown, unknown>, count: number, mayHalve: boolean, step: NextStep["step"], pauseMs?: number]
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
  ])("%s, it does what its options say", (_case, options, count, mayHalve, step, pauseMs = 0) => {
    const { recovery } = recoveryOf(options, count);
    expect(recovery.afterFailure(failure, mayHalve)).toEqual({ step, pauseMs });
    expect(recovery.isSplit).toBe(step === "halves");
  });

  test("a pause that the error asks for is at least kept", () => {
    const recovery = recoveryOf({ retry: { attempts: 2, backoffMs: 30 } }, 4).recovery;
    const asking = Object.assign(new Error("busy"), { retryAfterMs: 50 });
    expect(recovery.afterFailure(asking, true)).toEqual({ step: "retry", pauseMs: 50 });
  });

  test("the first half is tried before the second, halves of a half before the other, and those who left are not", () => {
    const { batch, recovery } = recoveryOf({ isolateFailures: true }, 8);
    const { entries } = batch;
    const tried: (readonly Entry[])[] = [];
    batch.start = () => tried.push(batch.entries);
    recovery.failed(failure, true);
    expect(tried).toEqual([entries.slice(0, 4)]);
    recovery.afterFailure(failure, true);
    expect(recovery.untried).toEqual([...entries.slice(4), ...entries.slice(2, 4), ...entries.slice(0, 2)]);
    leave([...entries.slice(0, 2), entries[2] as Entry]);
    for (let half = 0; half < 3; half += 1) recovery.next(0);
    expect(tried.slice(1)).toEqual([[entries[3]], entries.slice(4)]);
    expect(batch.phase).toBe("done");
  });

  test("the calls for each half are counted anew", () => {
    const { recovery } = recoveryOf({ isolateFailures: true, retry: { attempts: 2 } }, 2);
    const steps = (): unknown[] => range(2).map(() => recovery.afterFailure(failure, true).step);
    expect(steps()).toEqual(["retry", "halves"]);
    for (let half = 0; half < 2; half += 1) {
      recovery.next(0);
      expect(steps()).toEqual(["retry", "error"]);
    }
  });

  test("the backoff of a batch that `retry.when` has ended is not asked for", () => {
    let asked = 0;
    const backoffMs = (): number => {
      asked += 1;
      return 1;
    };
    const when = (): boolean => {
      batch.end();
      return true;
    };
    const { batch, recovery } = recoveryOf({ retry: { attempts: 2, backoffMs, when } }, 2);
    expect(recovery.afterFailure(failure, true).step).toBe("error");
    expect(asked).toBe(0);
  });
});
