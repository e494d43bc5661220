// Lanes that share the token limit of an account: none starves another, whatever the sizes of their
// requests.

import { describe, expect, test } from "vitest";
import type { ProviderLimits } from "../../../../src/dispatch/contract/capabilities.ts";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { SIM_LIMITS, SimProvider } from "../../support/simulation/sim-provider.ts";
import { seeded, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LIMIT = 1_000;

/** A request of so many estimated tokens. */
const of = (model: string, id: string, tokens: number, priority = 0): DispatchRequest => ({
  id,
  priority,
  body: { model, messages: [{ role: "user", content: id.padEnd((tokens - 4) * 4, ".") }] },
});

/** Batches of `runMs` minutes at a provider that has one limit for all models. */
async function site(limits: Partial<ProviderLimits> = { maxEnqueuedTokens: LIMIT }, processes = 1) {
  const here = world();
  const random = seeded(11);
  const sim = new SimProvider({
    time: here.time,
    ...(limits.maxEnqueuedTokens === undefined ? {} : { enqueuedTokens: 2 * limits.maxEnqueuedTokens }),
    plan: () => ({ runMs: (15 + Math.floor(random() * 20)) * MINUTE }),
  });
  const account = sim.account({ ledgerScope: "account", limits: { ...SIM_LIMITS, ...limits } });
  const thresholds = { maxRequests: 10, maxAgeMs: 5 * MINUTE };
  const dispatchers: Dispatcher[] = [];
  while (dispatchers.length < processes) {
    const options = { accounts: [account], thresholds, random: seeded(20 + dispatchers.length) };
    dispatchers.push(await here.start(options));
  }
  return { ...here, sim, dispatcher: dispatchers[0] as Dispatcher };
}

/** Each minute, more requests than the limit allows. */
async function crowd(
  { time }: Pick<World, "time">,
  forMs: number,
  arrive: (minute: number) => readonly DispatchRequest[],
  dispatcher: Dispatcher,
): Promise<void> {
  for (let minute = 0; minute * MINUTE < forMs; minute += 1) {
    await dispatcher.enqueueMany(arrive(minute));
    await time.advance(MINUTE);
  }
}

const endedOf = async ({ store }: Pick<World, "store">, ids: readonly string[]): Promise<number> =>
  (await store.requests({ ids })).filter(({ state }) => state === "ended").length;
const ids = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

describe("on a limit that is always used up", () => {
  test.each([[1], [3]])(
    "a lane of large requests has its turn, and the others continue meanwhile (%i processes)",
    async (n) => {
      const here = await site({ maxEnqueuedTokens: LIMIT }, n);
      const large = ids("large", 4);
      await here.dispatcher.enqueueMany(
        [0, 1, 2, 3, 4, 5].flatMap((k) => ids(`first${k}-`, 10).map((id) => of(`s${k % 3}`, id, 20))),
      );
      await here.time.advance(MINUTE);
      await here.dispatcher.enqueueMany(large.map((id) => of("large", id, 900)));
      const small = (minute: number): DispatchRequest[] =>
        ["s0", "s1", "s2"].flatMap((model) => ids(`${model}-${minute}-`, 4).map((id) => of(model, id, 20)));
      let before = 0;
      for (let hours = 0; hours < 8; hours += 1) {
        const offset = hours * 60;
        await crowd(here, HOUR, (minute) => small(offset + minute), here.dispatcher);
        const ended = [...here.sim.successes().keys()].filter((name) => !name.startsWith("large")).length;
        // A large request takes nine tenths of the limit for half an hour.
        if (hours % 2 === 1) {
          expect(ended).toBeGreaterThan(before + 20);
          before = ended;
        }
      }
      expect(await endedOf(here, large)).toBe(4);
    },
  );

  test.each<[string, Partial<ProviderLimits>]>([
    ["batches", { maxEnqueuedBatches: 1 }],
    ["requests", { maxEnqueuedRequests: 10 }],
    ["tokens", { maxEnqueuedTokens: 300 }],
  ])("(%s) a lane that always has something more urgent does not keep another one waiting", async (_name, limits) => {
    const here = await site(limits);
    // The first of all, and never the first of its lane: its lane is always the one that has waited
    // longest.
    const old = ids("old", 10).map((id) => of("busy", id, 20, -1));
    await here.dispatcher.enqueueMany([...old, ...ids("busy", 100).map((id) => of("busy", id, 20))]);
    await here.time.advance(6 * MINUTE);
    const quiet = ids("quiet", 5);
    await here.dispatcher.enqueueMany(quiet.map((id) => of("quiet", id, 20)));
    await crowd(here, 4 * HOUR, (minute) => ids(`more-${minute}-`, 6).map((id) => of("busy", id, 20)), here.dispatcher);
    expect(await endedOf(here, quiet)).toBe(5);
    expect(await endedOf(here, ids("old", 10))).toBe(0);
  });

  test("two lanes that are always full share it about equally", async () => {
    const here = await site();
    const arrive = (minute: number): DispatchRequest[] =>
      ["a", "b"].flatMap((model) => ids(`${model}${minute}-`, 10).map((id) => of(model, id, 20)));
    await crowd(here, 6 * HOUR, arrive, here.dispatcher);
    const [a, b] = ["a", "b"].map(
      (name) => [...here.sim.successes().keys()].filter((each) => each.startsWith(name)).length,
    );
    expect(Math.min(a ?? 0, b ?? 0) / Math.max(a ?? 1, b ?? 1)).toBeGreaterThan(0.6);
  });
});
