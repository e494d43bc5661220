// Runs of `runDue` where something is slow: a list, a store, a database that wakes up.

import { describe, expect, test } from "vitest";
import { expectEachOnce, finish, MINUTE, names, place, SECOND } from "../../support/due-place.ts";
import { before, ended } from "../../support/due-runs.ts";

describe("a list that", () => {
  test.each([
    ["hangs", 60 * MINUTE, 1_000],
    ["takes 3 s a page", 3 * SECOND, 1],
  ])("%s keeps time for a look-up by id", async (_how, listMs, pageSize) => {
    const here = place({
      thresholds: { maxAgeMs: 0, maxRequests: 5 },
      sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) },
      account: (provider, sleep) => {
        const plain = provider.account();
        return {
          ...plain,
          capabilities: { ...plain.capabilities, list: { ...plain.capabilities.list, pageSize } },
          list: async (...given) => {
            await sleep(listMs);
            return plain.list(...given);
          },
        };
      },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(names(20));
    const { runs } = await finish(here, dispatcher, 10 * SECOND);
    expectEachOnce(here, 20);
    expect(runs).toBeLessThan(10);
    expect(here.errors.map(String).join()).not.toContain("The run is over");
  });
});

describe("a store that", () => {
  test("fails at first does not end the run", async () => {
    const here = place();
    const { dispatcher } = here.process({ store: before(here.store, flaky) });
    let failures = 0;
    async function flaky(): Promise<void> {
      failures -= 1;
      if (failures >= 0) throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    }
    await dispatcher.enqueueMany(names(3));
    failures = 6;
    const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 20 * SECOND }));
    expect(here.provider.batches).toHaveLength(1);
    expect(value.nextAt).toBeGreaterThan(here.time.now());
  });

  test("fails at the report is read again", async () => {
    const here = place();
    let failures = 2;
    const store = before(here.store, async (name, limit) => {
      if (name !== "probe" || limit !== Number.MAX_SAFE_INTEGER) return;
      failures -= 1;
      if (failures >= 0) throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    });
    const { dispatcher } = here.process({ store });
    await dispatcher.enqueueMany(names(3));
    const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 20 * SECOND }));
    expect(value.open).toBe(3);
  });

  const hanging = () => {
    const here = place({ sim: { fate: (operation) => (operation === "upload" ? { actAfterMs: 5 * SECOND } : {}) } });
    const hang = { isOn: false };
    const store = before(here.store, async () => {
      if (hang.isOn) await here.sleep(60 * MINUTE);
    });
    return { here, hang, dispatcher: here.process({ store }).dispatcher };
  };
  const failure = (run: Promise<unknown>) =>
    run.then(
      () => null,
      (error: unknown) => error,
    );

  test.each([0, 3])("hangs from second %s on does not hold the caller", async (seconds) => {
    const { here, hang, dispatcher } = hanging();
    await dispatcher.enqueueMany(names(3));
    here.time.setTimeout(() => {
      hang.isOn = true;
    }, seconds * SECOND);
    await here.time.advance(seconds === 0 ? 1 : 0);
    const ends: unknown[] = [];
    const run = failure(dispatcher.runDue({ maxMs: 10 * SECOND })).then((error) => ends.push(error));
    await here.time.advance(11 * SECOND);
    expect(ends).toMatchObject([{ code: "STORE_UNAVAILABLE" }]);
    await run;
  });

  test("hangs at the beginning does not hold an abort, and nothing begins after that", async () => {
    const { here, hang, dispatcher } = hanging();
    await dispatcher.enqueueMany(names(3));
    hang.isOn = true;
    const abort = new AbortController();
    const gone = new Error("Gone.");
    const ends: number[] = [];
    const run = failure(dispatcher.runDue({ maxMs: SECOND, signal: abort.signal })).then((error) => {
      ends.push(here.time.now());
      return error;
    });
    await here.time.advance(100);
    abort.abort(gone);
    const abortedAt = here.time.now();
    await here.time.advance(5 * SECOND);
    expect(ends).toEqual([abortedAt]);
    expect(await run).toBe(gone);
    expect(here.provider.calls.size).toBe(0);
  });
});
