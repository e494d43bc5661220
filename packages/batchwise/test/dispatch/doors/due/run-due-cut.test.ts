// Runs of `runDue` that end in the middle of a step: by their time, a signal, a stop or a kill.

import { describe, expect, test } from "vitest";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import {
  expectEachOnce,
  finish,
  type Given,
  MINUTE,
  names,
  type Place,
  place,
  SECOND,
} from "../../support/due-place.ts";
import { ended, leases } from "../../support/due-runs.ts";
import type { Fate } from "../../support/simulation/sim-provider.ts";
import { seeded } from "../../support/world.ts";

const STEPS = ["upload", "create", "list", "retrieve", "results"] as const;

/** The first call of the step takes half an hour. */
function stuckAt(step: (typeof STEPS)[number]) {
  const hang = { isBegun: false };
  const hangs = (operation: string): boolean => {
    if (operation !== step || hang.isBegun) return false;
    hang.isBegun = true;
    return true;
  };
  const given: Given = {
    leaseMs: 70 * SECOND,
    // Two batches are polled by the list.
    thresholds: { maxAgeMs: 0, maxRequests: step === "retrieve" ? 10 : 5 },
    sim: {
      fate: (operation): Fate => (hangs(operation) ? { actAfterMs: 30 * MINUTE } : {}),
      plan: () => ({ validateMs: 0, runMs: MINUTE }),
    },
    account: (provider, sleep) => {
      const plain = provider.account();
      return {
        ...plain,
        async *results(...given) {
          let lines = 0;
          for await (const line of plain.results(...given)) {
            if (lines === 3 && hangs("results")) await sleep(30 * MINUTE);
            lines += 1;
            yield line;
          }
        },
      };
    },
  };
  return { hang, given };
}

type Run = ReturnType<Dispatcher["runDue"]>;

/** Runs until one hangs in the step, and gives that run. */
async function hanging(
  here: Place,
  dispatcher: Dispatcher,
  hang: { readonly isBegun: boolean },
  signal: AbortSignal,
): Promise<{ readonly run: Run }> {
  for (let runs = 0; runs < 8; runs += 1) {
    const run = dispatcher.runDue({ maxMs: 20 * SECOND, signal });
    run.catch(() => {});
    await here.time.advance(5 * SECOND);
    if (hang.isBegun) return { run };
    const { nextAt } = await run;
    await here.time.advance(Math.max(0, (nextAt ?? 0) - here.time.now()));
  }
  throw new Error("No run hangs.");
}

describe.each(STEPS)("a run cut off in the middle of `%s`", (step) => {
  const gone = new Error("The platform ends the call.");

  test.each([
    ["time", "ended", () => {}],
    ["signal", gone, ({ abort }) => abort.abort(gone)],
    ["stop", expect.objectContaining({ code: "CLOSED" }), ({ dispatcher }) => void dispatcher.stop()],
  ] as [string, unknown, (all: { abort: AbortController; dispatcher: Dispatcher }) => void][])(
    "by its %s, is continued by the next",
    async (_end, expected, cut) => {
      const { hang, given } = stuckAt(step);
      const here = place(given);
      const { dispatcher } = here.process();
      const abort = new AbortController();
      await dispatcher.enqueueMany(names(10));
      const { run } = await hanging(here, dispatcher, hang, abort.signal);
      cut({ abort, dispatcher });
      const outcome = run.then(
        () => "ended",
        (error: unknown) => error,
      );
      const { value, tookMs } = await ended(here.time, outcome);
      expect(value).toEqual(expected);
      expect(tookMs).toBeLessThanOrEqual(15 * SECOND);
      expect(await leases(here.store, here.time.now())).toBe(0);
      const next = here.process().dispatcher;
      await finish(here, next);
      expectEachOnce(here, 10);
      expect((await next.stats()).outcomes).toMatchObject({ succeeded: 10, failed: 0 });
    },
  );

  test("by a kill, is continued when its leases have ended", async () => {
    const { hang, given } = stuckAt(step);
    const here = place(given);
    const { machine, dispatcher } = here.process();
    await dispatcher.enqueueMany(names(10));
    await hanging(here, dispatcher, hang, new AbortController().signal);
    machine.kill();
    const next = here.process().dispatcher;
    const { value } = await ended(here.time, next.runDue({ maxMs: 20 * SECOND }));
    expect(value.nextAt).toBeLessThanOrEqual(here.time.now() + 70 * SECOND);
    await finish(here, next);
    expectEachOnce(here, 10);
  });
});

const POINTS = ["after-intent", "after-upload", "create-answered", "after-result-txn", "after-delivery"];

test.each(POINTS)("a process that is killed at %s in a run passes the rest to the next run", async (point) => {
  const here = place({ sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) } });
  const killed = here.process({ onOutcome: () => {} });
  const { machine } = killed;
  const failpoint = async (name: string): Promise<void> => {
    if (name !== point) return;
    machine.kill();
    await new Promise(() => {});
  };
  const dispatcher = createDispatcher({
    store: machine.wrap(here.store),
    accounts: [machine.wrap(here.provider.account())],
    clock: machine.clock,
    random: seeded(9),
    ...{ thresholds: { maxAgeMs: 0 }, failpoint, onOutcome: () => {}, onError: () => {} },
  });
  await dispatcher.enqueueMany(names(5));
  for (let runs = 0; runs < 20 && !machine.isDead; runs += 1) {
    dispatcher.runDue({ maxMs: 20 * SECOND }).catch(() => {});
    await here.time.advance(MINUTE);
  }
  expect(machine.isDead).toBe(true);
  const next = here.process({ onOutcome: () => {} }).dispatcher;
  await finish(here, next);
  expectEachOnce(here, 5);
  expect((await next.stats()).deliveriesWaiting).toBe(0);
});
