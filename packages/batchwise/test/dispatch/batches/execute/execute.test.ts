// Accounts that run lines themselves, as badly as an account can: the store says what is open,
// whatever they give.

import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { DispatchError } from "../../../../src/dispatch/contract/errors.ts";
import type { CollectEvent } from "../../../../src/dispatch/contract/events.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { executing as account, type Execute, nameOf, success } from "../../support/executing.ts";
import { SimRunner } from "../../support/simulation/sim-runner.ts";
import { ask, isAtRest, SimProcess, type World, world } from "../../support/world.ts";

async function outcomes({ store }: World) {
  const rows = await store.outcomes({ after: 0, limit: 100 });
  return rows
    .map(({ id, status, code, attempts }) => ({ id, status, code, attempts }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

const settled = (...ids: string[]) => ids.map((id) => ({ id, status: "succeeded", code: null, attempts: 1 }));
const thresholds = { maxAgeMs: 1_000 };

describe("an account that runs lines itself", () => {
  test("is called again for missing results, and extra results count for nothing", async () => {
    const here = world();
    const passes: string[][] = [];
    const dispatcher = await here.start({
      thresholds,
      accounts: [
        account(async function* (lines) {
          const names: string[] = [];
          passes.push(names);
          for await (const line of lines) {
            names.push(nameOf(line).slice(-1));
            if (passes.length === 1 && names.length === 2) continue;
            yield success(line);
            yield success(line);
          }
          yield { ...success('{"custom_id":"01JD3K9V7QX2_0000009"}') };
          yield { ...success('{"custom_id":"nobody"}') };
        }),
      ],
    });
    await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect(passes).toEqual([["0", "1", "2"], ["1"]]);
    expect(await outcomes(here)).toEqual(settled("a", "b", "c"));
    expect((await dispatcher.stats()).ignoredResults).toBe(7);
    await dispatcher.stop();
  });

  test("that breaks off keeps finished lines, and continues after growing pauses", async () => {
    const here = world();
    const at: number[] = [];
    const codes: CollectEvent[] = [];
    const dispatcher = await here.start({
      thresholds,
      accounts: [
        account(async function* (lines) {
          at.push(here.time.now());
          for await (const line of lines) {
            if (at.length > 3 || (at.length === 1 && nameOf(line).endsWith("0"))) yield success(line);
            else throw new Error("gone");
          }
        }),
      ],
    });
    dispatcher.on("collect", (event) => codes.push(event));
    await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect(await outcomes(here)).toEqual(settled("a", "b", "c"));
    const waits = at.slice(1).map((time, index) => Math.round((time - (at[index] ?? 0)) / 1_000));
    expect(waits).toEqual([1, 2, 4]);
    expect(codes.map(({ code, lines }) => [code, lines])).toEqual([
      ["local_error", 1],
      ["local_error", 0],
      ["local_error", 0],
      [null, 2],
    ]);
    await dispatcher.stop();
  });

  test("that answers with a value that cannot become text fails only that request, and runs it once", async () => {
    const here = world();
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as JsonObject[string];
    let runs = 0;
    const dispatcher = await here.start({
      thresholds,
      accounts: [
        account(async function* (lines) {
          for await (const line of lines) {
            runs += 1;
            yield runs === 2 ? { ...success(line), response: { statusCode: 200, body: { deep } } } : success(line);
          }
        }),
      ],
    });
    await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
    await here.until(() => isAtRest(here.store, here.time.now()));
    const [a, c] = settled("a", "c");
    expect(await outcomes(here)).toEqual([a, { id: "b", status: "failed", code: "result_unreadable", attempts: 1 }, c]);
    expect(runs).toBe(3);
    await dispatcher.stop();
  });

  test("that can no longer encode a request fails only that one", async () => {
    const here = world();
    let isStrict = false;
    const encodeLine: Account["encodeLine"] = ({ customId, body }) => {
      if (isStrict && body.includes('"b"')) throw new DispatchError("INVALID_REQUEST", "Not any more.");
      return `{"custom_id":"${customId}","body":${body}}\n`;
    };
    const run: Execute = async function* (lines) {
      for await (const line of lines) yield success(line);
    };
    const dispatcher = await here.start({ thresholds, accounts: [account(run, { encodeLine })] });
    await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
    isStrict = true;
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect(await outcomes(here)).toEqual([
      ...settled("a"),
      { id: "b", status: "failed", code: "invalid_request", attempts: 1 },
      ...settled("c"),
    ]);
    await dispatcher.stop();
  });

  test("whose batch another process has taken meanwhile settles nothing more", async () => {
    const here = world();
    const aborted: unknown[] = [];
    let passes = 0;
    const run: Execute = async function* (lines, { signal }) {
      passes += 1;
      if (passes === 1) {
        signal.addEventListener("abort", () => aborted.push(signal.reason));
        await new Promise(() => {});
      }
      for await (const line of lines) yield success(line);
    };
    const dispatcher = await here.start({ thresholds, accounts: [account(run)] });
    await dispatcher.enqueue(ask("a"));
    await here.until(async () => passes === 1);
    const [batch] = await here.store.batches({ limit: 1 });
    await here.time.advance(1);
    // Another process, whose clock is far ahead, takes the lease for expired.
    const now = here.time.now() + 3_600_000;
    const other = { owner: "other", now, leaseUntil: now - 3_590_000, accounts: ["local"], limit: 1 };
    expect(await here.store.lease({ ...other, keys: [batch?.key ?? ""] })).toHaveLength(1);
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect(aborted).toMatchObject([{ message: expect.stringContaining("is lost") }]);
    expect(passes).toBe(2);
    expect(await outcomes(here)).toEqual(settled("a"));
    await dispatcher.stop();
  });
});

test("results that the store refuses while it takes heartbeats are kept until it takes them: no line runs again", async () => {
  const here = world();
  const runner = new SimRunner({ time: here.time, lineMs: () => 1_000 });
  let isFull = true;
  const store = new SimProcess(here.time).wrap(here.store, (name, call) => {
    if (isFull && name === "settle") throw new DispatchError("STORE_FULL", "The tablespace is full.");
    return call();
  });
  const options = { store, accounts: [runner.account()], thresholds, onError: () => {} };
  const dispatcher = await here.start(options);
  await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
  await here.time.advance(3_600_000);
  expect(runner.executions).toHaveLength(3);
  isFull = false;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(runner.executions).toHaveLength(3);
  expect(await outcomes(here)).toEqual(settled("a", "b", "c"));
});
