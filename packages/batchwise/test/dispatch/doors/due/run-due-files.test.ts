// Files in the time that a run of `runDue` has.

import { describe, expect, test } from "vitest";
import { speedChange, speedOf } from "../../../../src/dispatch/batches/submit/upload-speed.ts";
import type { Account, BatchInput, CallOptions } from "../../../../src/dispatch/contract/account.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { expectEachOnce, finish, type Given, MINUTE, names, place, SECOND } from "../../support/due-place.ts";
import { before, ended, leases } from "../../support/due-runs.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask } from "../../support/world.ts";

/** An account that takes so many bytes a millisecond, in its uploads or in its creates. */
function slow(bytesPerMs: number, maxInlineBytes = 0): NonNullable<Given["account"]> {
  return (provider, sleep) => {
    const plain = provider.account({ maxInlineBytes });
    const slowly = async (input: BatchInput, { signal }: CallOptions): Promise<BatchInput> => {
      const lines: string[] = [];
      for await (const line of input.lines()) {
        signal.throwIfAborted();
        await sleep(line.length / bytesPerMs);
        lines.push(line);
      }
      const given = async function* () {
        yield* lines;
      };
      return { ...input, lines: given };
    };
    return {
      ...plain,
      upload: async (input, call) => (plain.upload as NonNullable<Account["upload"]>)(await slowly(input, call), call),
      create: async (given, call) => {
        const { input } = given;
        return plain.create("fileId" in input ? given : { ...given, input: await slowly(input, call) }, call);
      },
    };
  };
}

describe("files and the time that there is", () => {
  const big = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, index) =>
      ask(`r${index}`, {
        body: { model: "m", messages: [{ role: "user", content: `r${index}` }], user: "x".repeat(bytes) },
      }),
    );

  test("a file that is too slow is reported by name, and its requests go in smaller ones", async () => {
    // 2 MB at 100 bytes a millisecond: 20 s for all.
    const here = place({ account: slow(100), thresholds: { maxAgeMs: 0 } });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(20, 100_000));
    await ended(here.time, dispatcher.runDue({ maxMs: 5 * SECOND }));
    const [first] = await dispatcher.batches({ limit: 1 });
    expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
    expect(String(here.errors[0])).toContain(`${first?.key}-1.jsonl`);
    await finish(here, dispatcher, 5 * SECOND);
    expectEachOnce(here, 20);
    const sizes = here.provider.batches.map(({ total }) => total ?? 0);
    expect(Math.max(...sizes)).toBeLessThan(20);
    // Once it is known, no file is begun that cannot move.
    expect(here.errors.length).toBeLessThan(4);
  });

  test("a single request that is too slow is reported and tried in each run", async () => {
    const here = place({ account: slow(10) });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(1, 100_000));
    for (let runs = 0; runs < 3; runs += 1) {
      const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 2 * SECOND }));
      expect(value.open).toBe(1);
      expect(await leases(here.store, here.time.now())).toBe(0);
    }
    expect(here.errors.length).toBeGreaterThan(0);
    await finish(here, dispatcher, 20 * SECOND);
    expectEachOnce(here, 1);
  });

  test("results that a run could not read to their end stay settled, and are reported by name", async () => {
    const here = place({
      sim: { plan: () => ({ validateMs: 0, runMs: SECOND }) },
      account: (provider, sleep) => {
        const plain = provider.account();
        return {
          ...plain,
          async *results(...given) {
            for await (const line of plain.results(...given)) {
              await sleep(SECOND);
              yield line;
            }
          },
        };
      },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(names(30));
    await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    await here.time.advance(MINUTE);
    const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    expect(value.open).toBeLessThan(25);
    expect(value.open).toBeGreaterThan(15);
    const [batch] = await dispatcher.batches();
    expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
    expect(String(here.errors[0])).toContain(batch?.key);
    await finish(here, dispatcher, 60 * SECOND);
    expectEachOnce(here, 30);
  });

  test("an upload that hangs before its first line teaches nothing", async () => {
    let hangs = 1;
    const here = place({
      sim: { fate: (operation) => (operation === "upload" && hangs-- > 0 ? { actAfterMs: 30 * MINUTE } : {}) },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(2_000, 1_000));
    await finish(here, dispatcher, 10 * SECOND);
    expectEachOnce(here, 2_000);
    expect(here.provider.batches.length).toBeLessThan(3);
  });

  test("a speed that is too low is mended by small files", async () => {
    const here = place();
    await here.store.marks([speedChange("sim", null, 8)], here.time.now());
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(2_000, 1_000));
    await finish(here, dispatcher, 10 * SECOND);
    expectEachOnce(here, 2_000);
    expect(speedOf(await here.store.marks([], here.time.now()), "sim")).toBeGreaterThan(100);
  });

  test("a run that begins late learns the speed, and makes smaller files", async () => {
    const here = place({ account: slow(300) });
    await here.process().dispatcher.enqueueMany(big(40, 100_000));
    for (let ticks = 0; ticks < 12; ticks += 1) {
      let isCold = true;
      // The database wakes up.
      const store = before(here.store, async () => {
        const wasCold = isCold;
        isCold = false;
        if (wasCold) await here.sleep(2_500);
      });
      const { dispatcher } = here.process({ store });
      await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    }
    expect(here.provider.batches.length).toBeGreaterThan(1);
    expect(here.provider.batches.reduce((sum, { total }) => sum + (total ?? 0), 0)).toBe(40);
    expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
  });

  test("lines in creates are measured, reported by batch, and go in smaller ones", async () => {
    const here = place({ account: slow(300, 100_000_000) });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(40, 100_000));
    await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    const [first] = await dispatcher.batches({ limit: 1 });
    await finish(here, dispatcher, 10 * SECOND);
    expectEachOnce(here, 40);
    expect(new Set(here.errors.map((error) => (error as { code: string }).code))).toEqual(new Set(["RUN_TOO_SHORT"]));
    expect(String(here.errors[0])).toContain(`The create of batch ${first?.key}`);
  });

  test.each(["the call's", "the client's"])(
    "%s timer that fires early is not the provider's failure",
    async (whose) => {
      const here = place({
        account: (provider, sleep) => ({
          ...provider.account(),
          upload: async (_input, { timeoutMs }) => {
            await sleep(whose === "the call's" ? 60 * MINUTE : timeoutMs - 5);
            throw new Error("Timeout.");
          },
        }),
      });
      const { dispatcher } = here.process({
        // The upload begins a little after the run.
        failpoint: (point) => here.sleep(point === "after-intent" ? 1 : 0),
        clock: {
          now: () => here.time.now(),
          monotonic: () => here.time.now(),
          clearTimeout: (handle) => here.time.clearTimeout(handle),
          // Node counts from the start of its loop turn. The timer of the run has 9,000 ms.
          setTimeout: (callback, ms) =>
            here.time.setTimeout(callback, ms > 5 * SECOND && ms < 9 * SECOND ? ms - 5 : ms),
        },
      });
      await dispatcher.enqueueMany(names(1));
      await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
      expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
    },
  );

  test("an upload that the end of a run cuts off is no failure of the provider, on the real clock", async () => {
    const hung = new Promise<never>(() => {});
    const codes: unknown[] = [];
    const runs = Array.from({ length: 10 }, async () => {
      const provider = new SimProvider({ time: { now: Date.now, setTimeout } });
      const dispatcher = createDispatcher({
        store: memoryStore(),
        accounts: [{ ...provider.account(), upload: () => hung }],
        thresholds: { maxAgeMs: 0 },
        onError: (error) => codes.push((error as { code?: unknown }).code),
      });
      await dispatcher.enqueueMany(names(1));
      await dispatcher.runDue({ maxMs: 300 });
    });
    await Promise.all(runs);
    expect(codes.length).toBeGreaterThan(0);
    expect(codes.filter((code) => code !== "RUN_TOO_SHORT")).toEqual([]);
  });
});
