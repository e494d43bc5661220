import { describe, expect, test } from "vitest";
import type { BatchOptions } from "../../../src/core/contract/options.ts";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import { Entry } from "../../../src/core/queue/entry.ts";
import { type NextStep, Recovery } from "../../../src/core/run/recovery.ts";
import { Moment } from "../../../src/core/time/turn.ts";
import { range } from "../../support.ts";
import { servicesKit } from "../support/services.ts";

const failure = new Error("the handler's");

function recoveryOf(options: BatchOptions<unknown, unknown>): Recovery {
  return new Recovery({ services: servicesKit().services, options: PreparedOptions.of(options).options });
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
    const recovery = recoveryOf(options);
    expect(recovery.afterFailure(entriesOf(count), failure, mayHalve)).toEqual({ step, pauseMs });
    expect(recovery.isSplit).toBe(step === "halves");
  });

  test("a pause that the error asks for is at least kept", () => {
    const recovery = recoveryOf({ retry: { attempts: 2, backoffMs: 30 } });
    const asking = Object.assign(new Error("busy"), { retryAfterMs: 50 });
    expect(recovery.afterFailure(entriesOf(4), asking, true)).toEqual({ step: "retry", pauseMs: 50 });
  });

  test("the first half is tried before the second, halves of a half before the other, and those who left are not", () => {
    const recovery = recoveryOf({ isolateFailures: true });
    const entries = entriesOf(8);
    recovery.afterFailure(entries, failure, true);
    const first = recovery.nextHalf() ?? [];
    expect(first).toEqual(entries.slice(0, 4));
    recovery.afterFailure(first, failure, true);
    expect(recovery.untried).toEqual([...entries.slice(4), ...entries.slice(2, 4), ...entries.slice(0, 2)]);
    leave([...entries.slice(0, 2), entries[2] as Entry]);
    expect(recovery.nextHalf()).toEqual([entries[3]]);
    expect(recovery.nextHalf()).toEqual(entries.slice(4));
    expect(recovery.nextHalf()).toBeUndefined();
  });

  test("the calls for each half are counted anew", () => {
    const recovery = recoveryOf({ isolateFailures: true, retry: { attempts: 2 } });
    const entries = entriesOf(2);
    const steps = (of: readonly Entry[]): unknown[] =>
      range(2).map(() => recovery.afterFailure(of, failure, true).step);
    expect(steps(entries)).toEqual(["retry", "halves"]);
    expect(steps(recovery.nextHalf() ?? [])).toEqual(["retry", "error"]);
    expect(steps(recovery.nextHalf() ?? [])).toEqual(["retry", "error"]);
  });

  test("the backoff of a run that `retry.when` has ended is not asked for", () => {
    let asked = 0;
    const backoffMs = (): number => {
      asked += 1;
      return 1;
    };
    const when = (): boolean => {
      recovery.end();
      return true;
    };
    const recovery = recoveryOf({ retry: { attempts: 2, backoffMs, when } });
    expect(recovery.afterFailure(entriesOf(2), failure, true).step).toBe("error");
    expect(asked).toBe(0);
  });
});
