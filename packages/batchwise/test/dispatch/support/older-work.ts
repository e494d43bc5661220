// A store that the version before columns for health has written, ten minutes ago, with a batch in
// every state: what it has to read as, and that a dispatcher goes on with all of it. The fixtures
// were made by that version: sqlite/fixtures/schema-11.sql, and postgres-12.sql and redis-4.json of
// the integration tests. The same for the last version without limits of price, with one request of
// a tenant more: schema-13.sql, postgres-14.sql and redis-5.json.

import { expect, test } from "vitest";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { BatchRow } from "../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { customId, openaiLine } from "../../../src/dispatch/format/encode.ts";
import { readPriceLimits } from "../../../src/dispatch/prices/read-price-limits.ts";
import { type VirtualClock, virtualClock } from "../../../src/testing/index.ts";
import { SimProvider } from "./simulation/sim-provider.ts";
import { ask, isAtRest, START, seeded } from "./world.ts";

const MINUTE = 60_000;
const ENDPOINT = "/v1/chat/completions";
/** When the fixtures begin. */
const T = START - 10 * MINUTE;

const NAMES = [
  ...["fresh", "refused", "failing", "pending", "unsent", "sending", "unknown", "waiting", "submitted", "running"],
  ...["reading", "dividing", "lost", "aside", "divided", "ended", "stepped", "broken"],
];

export const olderKey = (name: string): string => `01KE6Q6T00${"0".repeat(14)}${10 + NAMES.indexOf(name)}`;

/** What decides about each batch, as far as it is not as in a fresh one. */
const KNOWN: Readonly<Record<string, Partial<BatchRow>>> = {
  fresh: { state: "sealed", inline: null },
  refused: {
    ...{ state: "sealed", inline: false, tries: 1, triesSince: T + 3 * MINUTE, wholeFailures: 1 },
    ...{ firstRefusedAt: T + 3 * MINUTE, lastRefusedAt: T + 4 * MINUTE },
  },
  failing: { state: "sealed", inline: false, tries: 3, triesSince: T + MINUTE },
  pending: { providerFileId: "file-1", inline: false, filePendingSince: T + 3 * MINUTE, tries: 1 },
  unsent: { state: "submitting", inline: false },
  sending: { state: "submitting", inline: true },
  unknown: { state: "unknown", inline: true, tries: 2, triesSince: T + 2 * MINUTE },
  waiting: { state: "waiting_capacity", inline: false, tries: 1 },
  submitted: { state: "submitted", providerFileId: "file-3", inline: false, lostLooks: 2, lostSince: T + 8 * MINUTE },
  running: { state: "running", wholeFailures: 1, firstRefusedAt: T + MINUTE, lastRefusedAt: T + MINUTE },
  reading: { state: "collecting", failedReads: 2, unreadableReads: 1 },
  dividing: {
    ...{ state: "collecting", wholeFailures: 2, splitAt: T + 5 * MINUTE },
    ...{ firstRefusedAt: T + 2 * MINUTE, lastRefusedAt: T + 5 * MINUTE },
  },
  lost: { state: "quarantined", lostLooks: 6, lostSince: T - 10 * MINUTE },
  aside: { state: "quarantined", tries: 9, firstRefusedAt: T + MINUTE, lastRefusedAt: T + 4 * MINUTE },
  divided: { state: "done", splitAt: T + 5 * MINUTE },
  ended: { state: "done", splitAt: null },
  stepped: { state: "sealed", failedSteps: 3, tries: 1 },
  broken: { state: "running", breaks: 2 },
};
const STRANGE = ["in the create", "to be uploaded"];

/** What the provider has by then: a file that waits, and seven batches. */
async function provider(time: VirtualClock): Promise<SimProvider> {
  const sim = new SimProvider({ time });
  const account = sim.account();
  const call = { signal: new AbortController().signal, timeoutMs: 1_000 };
  for (const name of ["pending", "sending", "submitted", "running", "reading", "lost", "broken"]) {
    const key = olderKey(name);
    const lines = [0, 1].map((ord) => {
      const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: `${name}-${ord}` }] });
      return openaiLine({ customId: customId(key, ord), endpoint: ENDPOINT, body });
    });
    const input = {
      lines: async function* () {
        yield* lines;
      },
    } as never;
    const { fileId } = (await account.upload?.(input, call as never)) ?? { fileId: "" };
    if (name === "pending") continue;
    const named = { key, attempt: 1, endpoint: ENDPOINT, model: "m" } as const;
    await account.create({ ...named, input: { fileId }, firstBody: async () => "" } as never, call as never);
  }
  return sim;
}

/** `open` gives a store with the fixture in it. */
export function testOlderWork(open: () => Promise<Store>): void {
  test("keeps all that decides about a batch", async () => {
    const store = await open();
    // The first write of a new version changes the layout of Redis.
    await store.enqueue([], START);
    const rows = new Map((await store.batches({ limit: 100 })).map((row) => [row.key, row]));
    const found = Object.entries(KNOWN).map(([name, known]) => {
      const row: Partial<BatchRow> = rows.get(olderKey(name)) ?? {};
      return [name, Object.fromEntries(Object.keys(known).map((field) => [field, row[field as keyof BatchRow]]))];
    });
    expect(Object.fromEntries(found)).toEqual(KNOWN);
    const live = [...rows.values()].filter(({ state }) => state !== "done");
    expect(live.filter(({ providerFileId }) => STRANGE.includes(providerFileId ?? ""))).toEqual([]);
    const reads = JSON.parse(rows.get(olderKey("reading"))?.shortReads ?? "null") as unknown;
    expect(reads).toEqual({ lines: 1, agreed: 2, since: T + 4 * MINUTE, tries: 3 });
    const ledgers = new Map((await store.probe(1, START)).ledgers.map((ledger) => [ledger.name, ledger]));
    expect(ledgers.get("sim")).toMatchObject({ note: "outage_400", blockedUntil: T + 9 * MINUTE });
    expect(JSON.parse(ledgers.get("sim")?.outage ?? "null")).toMatchObject({ pauses: 1, probe: olderKey("refused") });
    expect(ledgers.get("sim/m")).toMatchObject({ note: "token_limit", outage: null, learnedTokens: 100_000 });
    await store.close();
  });

  test("is resumed, and nothing is lost or run twice", async () => {
    const store = await open();
    const { sim, dispatcher, until, time } = await resumed(store);
    await until(() => isAtRest(store, time.now()));
    const ids = [...NAMES.flatMap((name) => [`${name}-0`, `${name}-1`]), "waits-0"];
    const outcomes = await Promise.all(ids.map((id) => dispatcher.result(id)));
    await dispatcher.stop();
    expect(outcomes.filter(({ status }) => status !== "succeeded").map(({ id }) => id)).toEqual(["ended-1"]);
    const runs = sim.successes();
    const twice = ids.filter((id) => !id.startsWith("ended") && runs.get(id) !== 1);
    expect(twice).toEqual([]);
    await store.close();
  });
}

/** `open` gives a store with the fixture of the last version without limits of price. */
export function testPriceInOlderWork(open: () => Promise<Store>): void {
  test("continues beside a tenant whose new requests have a maxPrice, which holds until it is raised", async () => {
    const store = await open();
    const prices = { m: { input: 1_000, output: 1_000, batchDiscount: 0 } };
    const under = (acme: number) => ({ prices, maxPrice: { tenants: { acme } } });
    const { sim, dispatcher, until, time } = await resumed(store, under(0.1), async (first) => {
      const bodies = Array.from({ length: 20 }, (_, n) => ({ ...ask(`new-${n}`).body, max_tokens: 10 }));
      await first.enqueueMany(bodies.map((body, n) => ({ id: `new-${n}`, tenant: "acme", body })));
    });
    await until(async () => (await store.probe(1, time.now())).inBatches === 0);
    const [at] = await readPriceLimits(store, { tenants: ["acme"] });
    expect(at).toMatchObject({ limit: 0.1, reserved: 0 });
    expect(at?.spent).toBeGreaterThan(0.05);
    expect(at?.spent).toBeLessThanOrEqual(0.1);
    const older = [...NAMES.flatMap((name) => [`${name}-0`, `${name}-1`]), "waits-0", "later-0"];
    const ended = await store.outcomes({ ids: older });
    expect(ended).toHaveLength(older.length);
    expect((await store.find({ match: { states: ["ready"] }, after: 0, limit: 100 })).rows.length).toBeGreaterThan(5);
    await dispatcher.stop();
    const raised = createDispatcher({
      ...{ store, clock: time, random: seeded(8), onError: () => {}, accounts: [sim.account()] },
      ...{ thresholds: { maxAgeMs: MINUTE }, ...under(1) },
    });
    await raised.start();
    await until(() => isAtRest(store, time.now()));
    await raised.stop();
    const ids = [...older, ...Array.from({ length: 20 }, (_, n) => `new-${n}`)].filter((id) => !id.startsWith("ended"));
    expect(ids.filter((id) => sim.successes().get(id) !== 1)).toEqual([]);
    await store.close();
  });
}

/**
 * Starts a dispatcher on a fixture, and resumes the quarantined batches once all others have
 * continued.
 */
async function resumed(
  store: Store,
  options: Pick<DispatcherOptions, "prices" | "maxPrice"> = {},
  begun: (dispatcher: Dispatcher) => Promise<void> = async () => {},
) {
  const time = virtualClock(T + 2 * MINUTE);
  const sim = await provider(time);
  await time.advance(8 * MINUTE);
  const dispatcher = createDispatcher({
    ...{ store, clock: time, random: seeded(7), onError: () => {}, accounts: [sim.account()] },
    ...{ thresholds: { maxAgeMs: MINUTE }, ...options },
  });
  await dispatcher.start();
  await begun(dispatcher);
  const until = async (isDone: () => Promise<boolean>): Promise<void> => {
    for (let steps = 0; !(await isDone()); steps += 1) {
      if (steps > 1_000) throw new Error("It never came to rest.");
      await time.advance(MINUTE);
    }
  };
  await until(async () => (await store.probe(1, time.now())).inBatches === 2);
  expect(await dispatcher.resume([olderKey("aside")])).toBe(1);
  return { sim, dispatcher, until, time };
}
