// Downloads that go on without end: they hold neither the places nor the leases of other accounts,
// and not in silence.

import { describe, expect, test } from "vitest";
import type { Account, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Yields the lines of one download of a batch. `pause` passes virtual time. */
type Drip = (lines: readonly ResultLine[], pause: (ms: number) => Promise<void>) => AsyncGenerator<ResultLine>;

function asks(model: string, count: number): DispatchRequest[] {
  return Array.from({ length: count }, (_, n) => ({ id: `${model}${n}`, body: { model, messages: [] } }));
}

/**
 * Account "slow" has batches of `maxRequests` requests whose results arrive slowly; those of
 * account "quick" arrive at once.
 */
async function dripping(drip: Drip, maxRequests: number, more: Partial<DispatcherOptions> = {}) {
  const here = world();
  const sim = new SimProvider({ time: here.time, plan: () => ({ runMs: 1_000 }) });
  const plain = sim.account();
  let downloads = 0;
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      here.time.setTimeout(resolve, ms);
    });
  const slow: Account = {
    ...plain,
    name: "slow",
    models: ["s"],
    async *results(batch, call, name) {
      downloads += 1;
      const lines: ResultLine[] = [];
      for await (const line of plain.results(batch, call, name)) lines.push(line);
      yield* drip(lines, pause);
    },
  };
  const reports: { readonly code?: string }[] = [];
  const dispatcher = await here.start({
    accounts: [slow, { ...plain, name: "quick", models: ["q"] }],
    thresholds: { maxRequests },
    onError: (error) => reports.push(error as { code?: string }),
    checkBodies: false,
    ...more,
  });
  const succeeded = async (): Promise<number> => (await dispatcher.stats()).outcomes.succeeded;
  const codes = (): (string | undefined)[] => reports.map(({ code }) => code);
  return { ...here, dispatcher, succeeded, codes, downloads: () => downloads };
}

const foreign = (n: number): ResultLine => ({ customId: `stranger-${n}`, response: null, error: null, usage: null });

describe("downloads of one account that never end", () => {
  test("and send a stranger's line a second keep the places of another account free", async () => {
    const { dispatcher, time, succeeded } = await dripping(async function* (_lines, pause) {
      for (let n = 0; ; n += 1) {
        await pause(1_000);
        yield foreign(n);
      }
    }, 1);
    await dispatcher.enqueueMany(asks("s", 8));
    await time.advance(2 * MINUTE);
    await dispatcher.enqueueMany(asks("q", 3));
    await time.advance(2 * MINUTE);
    expect(await succeeded()).toBe(3);
    await dispatcher.stop();
  });

  test("and send a member's line a minute keep them free, are settled as they come, and are reported", async () => {
    const drip: Drip = async function* (lines, pause) {
      for (const line of lines) {
        await pause(50_000);
        yield line;
      }
    };
    const here = await dripping(drip, 200, { stuckAfterMs: HOUR });
    await here.dispatcher.enqueueMany(asks("s", 1_000));
    await here.time.advance(5 * MINUTE);
    await here.dispatcher.enqueueMany(asks("q", 200));
    await here.time.advance(2 * MINUTE);
    const perBatch = (await here.succeeded()) - 200;
    expect(perBatch).toBeGreaterThanOrEqual(4 * 4);
    expect(here.codes()).not.toContain("BATCH_STUCK");
    await here.time.advance(HOUR);
    expect(here.codes().filter((code) => code === "BATCH_STUCK")).toHaveLength(5);
    expect(here.downloads()).toBe(4);
    await here.time.advance(3 * HOUR);
    expect(await here.succeeded()).toBeGreaterThanOrEqual(1_000);
    await here.dispatcher.stop();
  });

  test("and hold as many leases as a process has take none from the others", async () => {
    const { dispatcher, time, succeeded } = await dripping(async function* (lines, pause) {
      for (const line of lines) {
        await pause(50_000);
        yield line;
      }
      for (;;) await pause(50_000);
    }, 2);
    await dispatcher.enqueueMany(asks("s", 300));
    await time.advance(3 * MINUTE);
    await dispatcher.enqueueMany(asks("q", 20));
    const before = await succeeded();
    await time.advance(90_000);
    expect((await succeeded()) - before).toBeGreaterThanOrEqual(20);
    await dispatcher.stop();
  });
});

describe("a download that gives nothing new", () => {
  const repeats: Readonly<Record<string, Drip>> = {
    "only strangers' lines": async function* (_lines, pause) {
      for (let n = 0; ; n += 1) {
        await pause(1_000);
        yield foreign(n);
      }
    },
    "the same line again and again": async function* (lines, pause) {
      for (;;) {
        await pause(1_000);
        yield lines[0] as ResultLine;
      }
    },
    "lines of places that the batch does not have": async function* (lines, pause) {
      for (let n = 10; ; n += 1) {
        await pause(1_000);
        yield { ...(lines[0] as ResultLine), customId: (lines[0]?.customId ?? "").replace(/\d+$/, String(n)) };
      }
    },
  };

  test.each(Object.entries(repeats))("%s, is cut off after the time of a call and tried later", async (_, drip) => {
    const { dispatcher, time, downloads, codes } = await dripping(drip, 3);
    await dispatcher.enqueueMany(asks("s", 3));
    await time.advance(12 * MINUTE);
    expect(downloads()).toBeGreaterThan(3);
    expect(codes().length).toBeGreaterThan(2);
    await dispatcher.stop();
  });

  test("in very many lines is cut off at a bound, and the batch put aside after some tries", async () => {
    let lines = 0;
    const { dispatcher, time, downloads, succeeded } = await dripping(async function* (own) {
      yield own[0] as ResultLine;
      for (;;) yield foreign(lines++);
    }, 3);
    await dispatcher.enqueueMany(asks("s", 3));
    await time.advance(24 * HOUR);
    expect(downloads()).toBe(20);
    expect(lines).toBeLessThan(20 * (10_000 + 3 * 10 + 2));
    const [batch] = await dispatcher.batches();
    expect(batch).toMatchObject({ state: "quarantined", remaining: 2, lastError: { code: "foreign_lines" } });
    expect(await succeeded()).toBe(1);
    await dispatcher.stop();
  });
});
