// One case of the submission protocol: a batch of one request, a process that dies at a named
// point, a network that loses a message, a provider that accepts and lists late. A second process
// takes over; the provider counts.

import type { Capabilities } from "../../../src/dispatch/contract/capabilities.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { SimProvider } from "./simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, START, seeded } from "./world.ts";

const CRASHES = ["never", "after-intent", "after-upload", "create-sent", "create-answered"] as const;
const DROPS = ["none", "before", "after"] as const;
const ACCEPT_DELAYS_MS = [0, 5_000, 30_000, 59_000, 65_000, 120_000, 200_000] as const;
const LIST_LAGS_MS = [0, 15_000, 45_000, 90_000] as const;

export interface ProtocolCase {
  readonly crash: (typeof CRASHES)[number];
  readonly drop: (typeof DROPS)[number];
  readonly acceptDelayMs: number;
  readonly listLagMs: number;
}

/** All 420 combinations. */
export function protocolCases(): ProtocolCase[] {
  return CRASHES.flatMap((crash) =>
    DROPS.flatMap((drop) =>
      ACCEPT_DELAYS_MS.flatMap((acceptDelayMs) =>
        LIST_LAGS_MS.map((listLagMs) => ({ crash, drop, acceptDelayMs, listLagMs })),
      ),
    ),
  );
}

export interface ProtocolResult {
  /** Times that the request ran at the provider. */
  readonly runs: number;
  /** Batches that the provider accepted, those that were cancelled in time included. */
  readonly accepted: number;
  readonly outcomes: number;
}

const RESTART_MS = 5_000;
const MINUTE = 60_000;
const GIVE_UP_MS = 12 * 60 * MINUTE;

export async function runProtocolCase(
  { crash, drop, acceptDelayMs, listLagMs }: ProtocolCase,
  reconcileGraceMs: number,
  kind: Pick<Capabilities, "tag" | "maxInlineBytes">,
): Promise<ProtocolResult> {
  const time = virtualClock(START);
  const store = memoryStore();
  let isFirst = true;
  const provider = new SimProvider({
    time,
    listLagMs: () => listLagMs,
    fate: (operation) => {
      if (operation !== "create" || !isFirst) return {};
      isFirst = false;
      return { actAfterMs: acceptDelayMs, ...(drop === "none" ? {} : { drop }) };
    },
  });
  const start = (diesAt: string): void => {
    const process = new SimProcess(time);
    const die = (name: string): Promise<void> => {
      if (name !== diesAt) return Promise.resolve();
      process.kill();
      time.setTimeout(() => start("never"), RESTART_MS);
      return new Promise(() => {});
    };
    const account = process.wrap(provider.account(kind, { reconcileGraceMs }), async (name, call) => {
      const answer = call();
      if (name === "create") {
        answer.catch(() => {});
        await die("create-sent");
      }
      return answer;
    });
    const { clock } = process;
    const dispatcher = createDispatcher({
      store,
      accounts: [account],
      clock,
      random: seeded(1),
      failpoint: die,
      thresholds: { maxAgeMs: 0 },
    });
    dispatcher.start();
    if (diesAt === crash) dispatcher.enqueue(ask("only"));
  };
  start(crash);
  await time.advance(MINUTE);
  for (const end = time.now() + GIVE_UP_MS; time.now() < end; ) {
    if (await isAtRest(store, time.now())) break;
    await time.advance(MINUTE);
  }
  // The provider finishes whatever it has accepted, late or twice.
  const outcomes = await store.outcomes({ after: 0, limit: 10 });
  await time.advance(20 * MINUTE);
  return { runs: provider.successes().get("only") ?? 0, accepted: provider.batches.length, outcomes: outcomes.length };
}
