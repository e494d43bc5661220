// Results that break off, stall or are refused: lines that were read count, and the rest is
// requested at growing intervals.

import { describe, expect, test } from "vitest";
import type { Account, ProviderBatch, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import { DispatchError } from "../../../../src/dispatch/contract/errors.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const names = Array.from({ length: 10 }, (_, index) => `r${index}`);

type Results = (lines: AsyncIterable<ResultLine>, read: number, here: World) => AsyncGenerator<ResultLine>;

/** Ten requests whose results come from `results`, which gets the number of earlier reads. */
async function collected(results: Results, more: Partial<DispatcherOptions> = {}) {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const plain = sim.account();
  const readAt: number[] = [];
  const account: Account = {
    ...plain,
    results: (batch, call, name) => results(plain.results(batch, call, name), readAt.push(here.time.now()) - 1, here),
  };
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxRequests: names.length }, ...more });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  const rest = (): Promise<void> => here.until(() => isAtRest(here.store, here.time.now()));
  return { ...here, sim, dispatcher, readAt, rest };
}

describe("results", () => {
  test("with a line that cannot be read are settled up to it, and only the rest is quarantined", async () => {
    let isBroken = true;
    const { time, dispatcher, rest, sim } = await collected(async function* (lines) {
      let count = 0;
      for await (const line of lines) {
        if (isBroken && count === 5) throw new DispatchError("RESULTS_UNREADABLE", "Line 6 is not JSON.");
        count += 1;
        yield line;
      }
    });
    await time.advance(24 * HOUR);
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(5);
    const [batch] = await dispatcher.batches();
    expect(batch).toMatchObject({ state: "quarantined", remaining: 5 });
    isBroken = false;
    await dispatcher.requeue(batch?.key ?? "");
    await rest();
    expect([...sim.successes().values()].toSorted()).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
  });

  test("that stall are settled as far as they came, and read again", async () => {
    const { time, dispatcher, readAt, rest } = await collected(async function* (lines, read) {
      let count = 0;
      for await (const line of lines) {
        if (read === 0 && count === 7) await new Promise(() => {});
        count += 1;
        yield line;
      }
    });
    while (readAt.length === 0) await time.advance(1_000);
    await time.advance(60_500);
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(7);
    await rest();
    expect(readAt).toHaveLength(2);
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(10);
  });

  test("with answers that are nested too deeply to be stored fail only these requests, and are read once", async () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as NonNullable<JsonObject[string]>;
    const words = JSON.parse(`${'{"error":'.repeat(100_000)}1${"}".repeat(100_000)}`) as JsonObject;
    const bodies: readonly (readonly [number, JsonObject])[] = [
      [200, { deep }],
      [400, { error: { code: "too_odd", message: "No." }, deep }],
      [400, words],
      [400, { detail: [{ loc: deep, msg: deep }] }],
    ];
    const { dispatcher, readAt, rest, sim } = await collected(async function* (lines) {
      let count = 0;
      for await (const line of lines) {
        const [statusCode, body] = bodies[count] ?? [200, { good: true }];
        count += 1;
        yield { ...line, response: { statusCode, body } };
      }
    });
    await rest();
    const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
    const failed = outcomes.filter(({ status }) => status === "failed");
    expect(failed.map(({ error }) => error?.code).toSorted()).toEqual([
      ...["http_400", "http_400", "result_unreadable", "too_odd"],
    ]);
    expect(outcomes.filter(({ status }) => status === "succeeded")).toHaveLength(6);
    expect([readAt.length, sim.batches.length]).toEqual([1, 1]);
  });

  test("with an answer that is refused, and nested too deeply to be sent along, request it again without it", async () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as JsonObject[string];
    const call = { id: "1", type: "function", function: { name: "f", arguments: "{}" }, deep };
    const body = { choices: [{ message: { role: "assistant", content: null, tool_calls: [call] } }] };
    const options = { check: (answer: JsonObject) => ("choices" in answer ? "No." : null), reask: true };
    const results: Results = async function* (lines, read) {
      let count = 0;
      for await (const line of lines) {
        count += 1;
        yield read === 0 && count === 3 ? { ...line, response: { statusCode: 200, body: body as JsonObject } } : line;
      }
    };
    const { dispatcher, rest, sim } = await collected(results, options);
    await rest();
    const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
    expect(outcomes.map(({ status }) => status)).toEqual(names.map(() => "succeeded"));
    expect(outcomes.map(({ attempts }) => attempts).toSorted()).toEqual([...names.slice(1).map(() => 1), 2]);
    expect(sim.batches).toHaveLength(2);
  });

  test("that break off every time are read later each time, at most every five minutes", async () => {
    const { time, readAt } = await collected(async function* (lines) {
      for await (const line of lines) {
        yield line;
        throw new TypeError("terminated");
      }
    });
    await time.advance(2 * HOUR);
    const waits = readAt.slice(1).map((at, index) => Math.round((at - (readAt[index] as number)) / 1_000));
    expect(waits.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
  });
});

test("results that are refused for their rate are not read before the time that the provider names", async () => {
  const here = world();
  const message = "Slow down.";
  const refuse = { kind: "rateLimited", code: "rate_limit", message, retryAfterMs: 10 * MINUTE } as const;
  const fate = (operation: string) => (operation === "results" ? { refuse } : {});
  const sim = new SimProvider({ time: here.time, fate });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds: { maxRequests: 1 } });
  await dispatcher.enqueue(ask("a"));
  await here.time.advance(6 * HOUR);
  expect(sim.calls.get("results")).toBeGreaterThan(30);
  expect(sim.calls.get("results")).toBeLessThan(37);
});

test.each<[string, (seen: ProviderBatch) => ProviderBatch | null, string]>([
  ["is gone", () => null, "does not know the batch any more"],
  ["runs again", (seen) => ({ ...seen, state: "running", rawState: "in_progress" }), "says in_progress of a batch"],
])("results of a batch that had ended and then %s are reported until they come", async (_case, change, words) => {
  const here = world();
  const plain = new SimProvider({ time: here.time }).account();
  let [reads, looks] = [0, 0];
  const account: Account = {
    ...plain,
    async retrieve(id, call) {
      const seen = await plain.retrieve(id, call);
      if (reads === 0 || seen === null) return seen;
      looks += 1;
      return looks <= 3 ? change(seen) : seen;
    },
    async *results(batch, call, name) {
      reads += 1;
      if (reads === 1) throw new TypeError("terminated");
      yield* plain.results(batch, call, name);
    },
  };
  const told: unknown[] = [];
  const onError = (error: unknown): void => void told.push(error);
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxRequests: names.length }, onError });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(10);
  const about = expect.objectContaining({ message: expect.stringContaining(words) });
  expect(told).toEqual([expect.objectContaining({ message: "terminated" }), about, about, about]);
});
