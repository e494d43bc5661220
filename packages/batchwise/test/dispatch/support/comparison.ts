// The same schedule of faults for two dispatchers: the nth call of an operation has the same fate,
// and the process dies during the same creates. The provider counts lost and duplicate work.

import type { Account } from "../../../src/dispatch/contract/account.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { type VirtualClock, virtualClock } from "../../../src/testing/index.ts";
import { type Fate, SimProvider } from "./simulation/sim-provider.ts";
import { startUsualDispatcher, type UsualPlace } from "./usual-way.ts";
import { ask, SimProcess, START, seeded } from "./world.ts";

const MINUTE = 60_000;
const RESTART_MS = 30_000;
const REQUESTS = 60;
const DAY = 24 * 60 * MINUTE;

export interface FailureStreak {
  /** Requests that never ran to an answer that anybody heard. */
  readonly lost: number;
  /** Requests that ran more than once. */
  readonly duplicated: number;
}

interface Schedule {
  readonly provider: SimProvider;
  readonly time: VirtualClock;
  readonly names: readonly string[];
  /** Starts a process, and another whenever one dies. */
  run(start: (process: SimProcess, account: Account) => void): void;
}

function schedule(seed: number): Schedule {
  const time = virtualClock(START);
  const calls = new Map<string, number>();
  const nth = (operation: string): number => {
    const count = (calls.get(operation) ?? 0) + 1;
    calls.set(operation, count);
    return count;
  };
  const provider = new SimProvider({ time, fate: (operation) => fateOf(seed, operation, nth(operation)) });
  const run: Schedule["run"] = (start) => {
    const process = new SimProcess(time);
    const account = process.wrap(provider.account(), async (name, call) => {
      const count = calls.get(name) ?? 0;
      const draw = seeded(seed * 7_919 + count)();
      const answer = call();
      if (name === "create" && draw < 0.15) {
        answer.catch(() => {});
        process.kill();
        time.setTimeout(() => run(start), RESTART_MS);
      }
      return answer;
    });
    start(process, account);
  };
  return { provider, time, names: Array.from({ length: REQUESTS }, (_, index) => `r${index}`), run };
}

function fateOf(seed: number, operation: string, count: number): Fate {
  const draw = seeded(seed * 104_729 + count * 31 + operation.length);
  const fate = draw();
  const replyAfterMs = draw() * 5_000;
  if (operation !== "create" && operation !== "retrieve") return {};
  if (fate < 0.08) return { replyAfterMs, drop: "after" };
  if (fate < 0.16) return { replyAfterMs, drop: "before" };
  return { replyAfterMs };
}

export async function tallyOurs(seed: number): Promise<FailureStreak> {
  const { provider, time, names, run } = schedule(seed);
  const store = memoryStore();
  let isFirst = true;
  run((process, account) => {
    const dispatcher = createDispatcher({
      store: process.wrap(store),
      accounts: [account],
      clock: process.clock,
      random: seeded(seed),
      thresholds: { maxRequests: 12, maxAgeMs: 5 * MINUTE },
    });
    if (isFirst) void dispatcher.enqueueMany(names.map((name) => ask(name)));
    isFirst = false;
    dispatcher.start();
  });
  await time.advance(DAY);
  const outcomes = await store.outcomes({ after: 0, limit: 1_000 });
  const answered = new Set(outcomes.filter(({ status }) => status === "succeeded").map(({ id }) => id));
  return { lost: names.filter((name) => !answered.has(name)).length, duplicated: duplicated(provider) };
}

export async function tallyUsual(seed: number): Promise<FailureStreak> {
  const { provider, time, names, run } = schedule(seed);
  const place: UsualPlace = { queue: [...names], batches: new Map(), outcomes: new Map() };
  run((process, account) => startUsualDispatcher(place, account, process.clock));
  await time.advance(DAY);
  return { lost: names.filter((name) => !place.outcomes.has(name)).length, duplicated: duplicated(provider) };
}

function duplicated(provider: SimProvider): number {
  return [...provider.successes().values()].filter((runs) => runs > 1).length;
}
