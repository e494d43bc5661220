// A day's work of 50,000 requests over three unequal accounts with token limits, partial failures and expiry, in virtual time:
// every outcome is right, list calls keep the polls few, and choosing by headroom ends sooner than dealing in turn.

import { expect, test } from "vitest";
import { SIM_LIMITS, SimProvider, type SimTime } from "./support/sim-provider.ts";
import { ask, isAtRest, seeded, type World, world } from "./support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REQUESTS = 50_000;
const ARRIVAL_MS = 2 * HOUR;
const DEALS = 24;
/** What each account may have enqueued, in tokens of which a request has about six. */
const LIMITS = [30_000, 12_000, 3_000];
const THRESHOLDS = { maxRequests: 2_000, maxAgeMs: 20 * MINUTE };

const names = Array.from({ length: REQUESTS }, (_, index) => `r${index}`);

function statusOf(name: string, run: number): number {
  const draw = seeded(Number(name.slice(1)))();
  if (draw < 0.01) return 400;
  return draw < 0.06 && run === 1 ? 500 : 200;
}

function providerOf(time: SimTime, limit: number): SimProvider {
  return new SimProvider({
    time,
    enqueuedTokens: limit,
    plan: ({ index, identities }) => ({
      runMs: 20 * MINUTE + identities.length * 500,
      statusOf,
      notRun: (name) => index % 20 === 7 && name.endsWith("3"),
    }),
  });
}

async function startOn({ start }: World, providers: readonly SimProvider[]) {
  const accounts = providers.map((provider, index) => {
    const limits = { ...SIM_LIMITS, maxEnqueuedTokens: LIMITS[index] ?? 0 };
    const list = { paged: true, pageSize: 100, newestFirst: true };
    return provider.account({ limits, list }, { name: `account-${index}` });
  });
  return start({ accounts, thresholds: THRESHOLDS, retry: { attempts: 6, backoffMs: MINUTE } });
}

/** Lets the names arrive bit by bit; gives the time from the first arrival to the last outcome. */
async function live(here: World, enqueue: (some: readonly string[]) => Promise<unknown>, some: readonly string[]) {
  const began = here.time.now();
  const share = Math.ceil(some.length / DEALS);
  for (let deal = 0; deal < DEALS; deal += 1) {
    await enqueue(some.slice(deal * share, (deal + 1) * share));
    await here.time.advance(ARRIVAL_MS / DEALS);
  }
  await here.until(() => isAtRest(here.store, here.time.now()), 200 * HOUR);
  return here.time.now() - began;
}

test("50,000 requests end right, sooner than dealt in turn, with few calls a batch", async () => {
  const here = world();
  const providers = LIMITS.map((limit) => providerOf(here.time, limit));
  const dispatcher = await startOn(here, providers);
  const makespan = await live(here, (some) => dispatcher.enqueueMany(some.map((name) => ask(name))), names);
  const { outcomes } = await dispatcher.stats();
  const bad = names.filter((name) => statusOf(name, 2) === 400).length;
  expect(outcomes).toMatchObject({ succeeded: REQUESTS - bad, failed: bad, cancelled: 0, expired: 0 });
  const runs = providers.flatMap((provider) => [...provider.successes().values()]);
  expect([runs.length, Math.max(...runs)]).toEqual([REQUESTS - bad, 1]);
  const batches = providers.reduce((sum, provider) => sum + provider.batches.length, 0);
  const polls = providers.reduce((sum, { calls }) => sum + (calls.get("list") ?? 0) + (calls.get("retrieve") ?? 0), 0);

  const inTurn = await Promise.all(
    LIMITS.map(async (limit, index) => {
      const alone = world();
      const provider = providerOf(alone.time, limit);
      const limits = { ...SIM_LIMITS, maxEnqueuedTokens: limit };
      const each = await alone.start({
        accounts: [provider.account({ limits })],
        thresholds: THRESHOLDS,
        retry: { attempts: 6, backoffMs: MINUTE },
      });
      const third = names.filter((_, place) => place % LIMITS.length === index);
      return live(alone, (some) => each.enqueueMany(some.map((name) => ask(name))), third);
    }),
  );
  const roundRobin = Math.max(...inTurn);
  console.log(
    `makespan ${(makespan / HOUR).toFixed(1)} h, dealt in turn ${(roundRobin / HOUR).toFixed(1)} h; ` +
      `${batches} batches, ${(polls / batches).toFixed(1)} polls a batch`,
  );
  expect(makespan).toBeLessThan(roundRobin);
  expect(polls / batches).toBeLessThan(40);
}, 120_000);
