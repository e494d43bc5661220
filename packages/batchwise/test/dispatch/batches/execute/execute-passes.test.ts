// Batches of an account that runs lines itself, whose requests fail in several passes: the report
// equals that of a batch that failed in one pass.

import { describe, expect, test } from "vitest";
import { answer, type Execute, executing, success } from "../../support/executing.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

type Lines = Parameters<Execute>[0];
type Call = Parameters<Execute>[1];
/** What a pass does, given the lines, after `each` has answered one. */
type Pass = (lines: Lines, call: Call, each: (line: string) => ReturnType<typeof answer>) => ReturnType<Execute>;

const whole: Pass = async function* (lines, _call, each) {
  for await (const line of lines) yield each(line);
};

function partly(count: number, end: (call: Call) => Promise<void>): Pass {
  return async function* (lines, call, each) {
    let left = count;
    for await (const line of lines) {
      yield each(line);
      left -= 1;
      if (left === 0) await end(call);
    }
  };
}

const breaksOff = async (): Promise<void> => {
  throw Object.assign(new Error("The connection is lost."), { code: "ECONNRESET" });
};
const hangs = ({ signal }: Call): Promise<void> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

/** Twenty requests; the passes are given, and any later ones are whole. */
async function site(passes: readonly Pass[], good: readonly string[] = []) {
  const here = world();
  const seen = { passes: 0, lines: 0 };
  const told: { readonly code: string; readonly message: string }[] = [];
  const each = (line: string): ReturnType<typeof answer> => {
    seen.lines += 1;
    const content = JSON.parse(line).body.messages[0].content;
    const error = { type: "some_error", message: `No ${content}.` };
    return good.includes(content) ? success(line) : answer(line, 404, { error });
  };
  const account = executing((lines, call) => {
    const pass = passes[seen.passes] ?? whole;
    seen.passes += 1;
    return pass(lines, call, each);
  });
  const onError = (error: unknown): unknown => told.push(error as (typeof told)[number]);
  const spawn = () => here.start({ accounts: [account], thresholds: { maxRequests: 20 }, onError });
  const first = await spawn();
  await first.enqueueMany(names(20).map((name) => ask(name)));
  return {
    ...{ ...here, seen, first, spawn },
    async end() {
      await here.until(() => isAtRest(here.store, here.time.now()));
      const ended = await here.store.outcomes({ after: 0, limit: 100 });
      return {
        statuses: ended.map(({ status }) => status),
        told: told.filter(({ code }) => code === "BATCH_FAILED").map(({ message }) => message),
      };
    },
  };
}

const NONE = [expect.stringMatching(/^None of the 20 requests .* Most met "some_error: No r\d+\."/)];
const FAILED = names(20).map(() => "failed");

describe("a batch of which no request succeeds is reported", () => {
  test("where its first pass breaks off", async () => {
    const { end, seen } = await site([partly(10, breaksOff)]);
    expect(await end()).toEqual({ statuses: FAILED, told: NONE });
    expect(seen.passes).toBe(2);
  });

  test("where each of its passes breaks off, the last one after the last line", async () => {
    const { end, seen } = await site([partly(7, breaksOff), partly(7, breaksOff), partly(6, breaksOff)]);
    expect(await end()).toEqual({ statuses: FAILED, told: NONE });
    expect(seen.lines).toBe(20);
  });

  test("where another process ends it", async () => {
    const { first, spawn, end, until, seen } = await site([partly(10, hangs)]);
    await until(async () => seen.lines === 10);
    await first.stop();
    await spawn();
    expect(await end()).toEqual({ statuses: FAILED, told: NONE });
    expect(seen.passes).toBe(2);
  });

  test("where all that failed did so in the first pass, and the others were cancelled before the second", async () => {
    const { first, spawn, end, until, seen } = await site([partly(10, hangs)]);
    await until(async () => seen.lines === 10);
    await first.cancel(names(20).slice(10));
    await first.stop();
    await spawn();
    const { statuses, told } = await end();
    expect(statuses.filter((status) => status === "failed")).toHaveLength(10);
    expect(told).toEqual(NONE);
  });
});

test("a batch whose first pass had a success is not reported, whichever process ends it", async () => {
  const { first, spawn, end, until, seen } = await site([partly(10, hangs)], ["r3"]);
  await until(async () => seen.lines === 10);
  await first.stop();
  await spawn();
  const { statuses, told } = await end();
  expect(statuses.filter((status) => status === "succeeded")).toHaveLength(1);
  expect(told).toEqual([]);
});

test("a batch of which all requests were cancelled is not reported", async () => {
  const waits: Pass = async function* (lines, call, each) {
    await hangs(call);
    yield* whole(lines, call, each);
  };
  const { first, spawn, end, until, seen } = await site([waits]);
  await until(async () => seen.passes === 1);
  await first.cancel(names(20));
  await first.stop();
  await spawn();
  expect((await end()).told).toEqual([]);
});
