// Hours in which the server behind an account that runs lines itself has no capacity, or fails each
// line: no request is charged, the lane waits, and the user hears of it once.

import { describe, expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import { answer, executing, success } from "../../support/executing.ts";
import { ask, isAtRest, START, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const names = (count: number, prefix = "r"): string[] => Array.from({ length: count }, (_, index) => prefix + index);

/**
 * The status of each line: of its content, its count from 1 over all passes, and the time since the
 * start.
 */
type StatusOf = (content: string, lines: number, sinceMs: number) => number;

function site(statusOf: StatusOf, more: Partial<DispatcherOptions> = {}) {
  const here = world();
  const seen = { lines: 0, passes: 0 };
  const told: { readonly code: string; readonly message: string }[] = [];
  const account = executing(async function* (lines) {
    seen.passes += 1;
    for await (const line of lines) {
      seen.lines += 1;
      const content = JSON.parse(line).body.messages[0].content;
      const status = statusOf(content, seen.lines, here.time.now() - START);
      const error = { type: "some_error", message: `The server answers ${status}.` };
      yield status === 200 ? success(line) : answer(line, status, { error });
    }
  });
  const onError = (error: unknown): unknown => told.push(error as (typeof told)[number]);
  const options = { accounts: [account], thresholds: { maxRequests: 20, maxAgeMs: MINUTE }, onError, ...more };
  return {
    ...{ ...here, seen, told },
    spawn: () => here.start(options),
    rest: () => here.until(() => isAtRest(here.store, here.time.now())),
    async outcomes() {
      return await here.store.outcomes({ after: 0, limit: 10_000 });
    },
  };
}

const codes = (told: readonly { readonly code: string }[]): string[] => told.map(({ code }) => code);

describe("three hours of a server", () => {
  test.each([
    ["that answers each line with 429", 429, []],
    ["that answers each line with 529", 529, []],
    ["that fails each line", 500, []],
    ["that fails nearly each line", 503, ["r3", "r25"]],
  ] as const)("%s charge no try, and are reported once", async (_name, status, good: readonly string[]) => {
    const thresholds = { maxRequests: good.length === 0 ? 20 : 60, maxAgeMs: MINUTE };
    const statusOf: StatusOf = (content, _lines, ms) => (ms > 3 * HOUR || good.includes(content) ? 200 : status);
    const { spawn, rest, outcomes, seen, told, time } = site(statusOf, { thresholds });
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(60).map((name) => ask(name)));
    await rest();
    const ended = await outcomes();
    expect(ended.filter((one) => one.status !== "succeeded" || one.attempts > 1)).toEqual([]);
    expect(ended).toHaveLength(60);
    expect(codes(told)).toEqual(["LANE_PAUSED"]);
    expect(time.now() - START).toBeLessThan(6 * HOUR);
    expect(seen.passes).toBeLessThan(40);
    await dispatcher.stop();
  });

  test("that begin in the middle of a batch cut it: its other lines wait, and finished ones stay", async () => {
    const thresholds = { maxRequests: 2_000, maxAgeMs: MINUTE };
    const isBad = (lines: number, sinceMs: number): boolean => lines > 1_050 && sinceMs < 3 * HOUR;
    const { spawn, rest, outcomes, seen, told } = site((_, lines, sinceMs) => (isBad(lines, sinceMs) ? 503 : 200), {
      thresholds,
    });
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(2_000).map((name) => ask(name)));
    await rest();
    const ended = await outcomes();
    expect(ended.every(({ status }) => status === "succeeded")).toBe(true);
    // Lines of the hundred in which it began count as their own faults.
    expect(ended.filter(({ attempts }) => attempts > 1).length).toBeLessThanOrEqual(50);
    expect(codes(told)).toEqual(["LANE_PAUSED"]);
    expect(seen.lines).toBeLessThan(3_500);
    await dispatcher.stop();
  });
});

describe("a bad hour of an account that runs lines itself", () => {
  test("lets requests with a deadline expire in time, uncharged", async () => {
    const { spawn, rest, outcomes, time } = site(() => 429);
    const dispatcher = await spawn();
    const deadlineAt = time.now() + 2 * HOUR;
    await dispatcher.enqueueMany(names(10).map((name) => ask(name, { deadlineAt })));
    await rest();
    expect((await outcomes()).map(({ status, attempts }) => [status, attempts])).toEqual(
      names(10).map(() => ["expired", 0]),
    );
    expect(time.now()).toBeLessThan(deadlineAt + HOUR / 2);
    await dispatcher.stop();
  });

  test("outlasts a restart: the next process waits for its end", async () => {
    const { spawn, rest, until, outcomes, seen, told, time } = site((_content, _lines, ms) =>
      ms < 2 * HOUR ? 429 : 200,
    );
    const first = await spawn();
    await first.enqueueMany(names(40).map((name) => ask(name)));
    await until(async () => told.length > 0);
    await first.stop();
    const { passes } = seen;
    const next = await spawn();
    await time.advance(3 * MINUTE);
    expect(seen.passes).toBe(passes);
    await rest();
    expect((await outcomes()).every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect(codes(told)).toEqual(["LANE_PAUSED"]);
    await next.stop();
  });

  test("is met by several processes at once, and reported once", async () => {
    const { spawn, rest, outcomes, seen, told } = site((_content, _lines, ms) => (ms < 3 * HOUR ? 503 : 200));
    const all = [await spawn(), await spawn(), await spawn()];
    await all[0]?.enqueueMany(names(100).map((name) => ask(name)));
    await rest();
    expect((await outcomes()).map(({ status, attempts }) => [status, attempts])).toEqual(
      names(100).map(() => ["succeeded", 1]),
    );
    expect(codes(told)).toEqual(["LANE_PAUSED"]);
    expect(seen.passes).toBeLessThan(80);
    for (const one of all) await one.stop();
  });

  test("of a day and a half ends: lines that still fail then are charged", async () => {
    const { spawn, until, store, outcomes, time } = site(() => 529);
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(5).map((name) => ask(name)));
    await until(() => isAtRest(store, time.now()), 96 * HOUR);
    expect((await outcomes()).map(({ status }) => status)).toEqual(names(5).map(() => "failed"));
    expect(time.now() - START).toBeGreaterThan(30 * HOUR);
    await dispatcher.stop();
  });
});

describe("lines that fail among others that succeed", () => {
  test("are charged and end as before, also once only they share a batch", async () => {
    const { spawn, rest, outcomes, told } = site((content) => (content.startsWith("poison") ? 500 : 200));
    const dispatcher = await spawn();
    await dispatcher.enqueueMany([...names(14), ...names(6, "poison")].map((name) => ask(name)));
    await rest();
    const failed = (await outcomes()).filter(({ id }) => id.startsWith("poison"));
    expect(failed.map(({ status, attempts }) => [status, attempts])).toEqual(names(6).map(() => ["failed", 3]));
    expect(codes(told)).not.toContain("LANE_PAUSED");
    await dispatcher.stop();
  });

  test("pause no lane as the last of a long batch", async () => {
    const thresholds = { maxRequests: 202, maxAgeMs: MINUTE };
    const { spawn, rest, outcomes, told, time } = site((_, lines) => ([201, 202].includes(lines) ? 429 : 200), {
      thresholds,
    });
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(202).map((name) => ask(name)));
    await rest();
    expect((await outcomes()).filter(({ attempts }) => attempts === 2)).toHaveLength(2);
    expect(told).toEqual([]);
    expect(time.now() - START).toBeLessThan(HOUR);
    await dispatcher.stop();
  });
});

describe("batches of which no line succeeds", () => {
  test("are reported once a lane and code", async () => {
    const { spawn, rest, outcomes, told } = site(() => 404);
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(120).map((name) => ask(name)));
    await rest();
    expect((await outcomes()).map(({ status }) => status)).toEqual(names(120).map(() => "failed"));
    expect(codes(told)).toEqual(["BATCH_FAILED"]);
    expect(told[0]?.message).toMatch(/None of the 20 requests .*some_error: The server answers 404/);
    await dispatcher.stop();
  });

  test("are not reported where one does", async () => {
    const { spawn, rest, told } = site((content) => (/[05]$/.test(content) ? 200 : 404));
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(120).map((name) => ask(name)));
    await rest();
    expect(told).toEqual([]);
    await dispatcher.stop();
  });
});
