// A world for tests of jobs: the fake behind the official openai client, virtual time, and runs on
// one store, each a process of its own.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import type { JobOutcome, JobRequest } from "../../../src/dispatch/contract/jobs.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import type { RunBatchOptions } from "../../../src/dispatch/jobs/run-batch-options.ts";
import { runBatch } from "../../../src/dispatch/run-batch.ts";
import type { VirtualClock } from "../../../src/testing/index.ts";
import { drive } from "./drive.ts";
import { SimProcess, seeded, world } from "./world.ts";

export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;

export interface JobWorld {
  readonly time: VirtualClock;
  readonly store: Store;
  readonly fake: FakeProvider;
  /** Starts a run when its first outcome is read; batches of 10. */
  run<Request extends JobRequest>(options: Given<Request>): AsyncIterableIterator<JobOutcome<Request>>;
  /** Runs virtual time until the promise has settled. */
  settle<T>(promise: Promise<T>): Promise<T>;
}

type Given<Request extends JobRequest> = Partial<RunBatchOptions<Request>> & Pick<RunBatchOptions<Request>, "requests">;

export function jobWorld(options: FakeOptions = {}): JobWorld {
  const { time, store } = world();
  const identify: FakeOptions["identify"] = ({ body }) => JSON.stringify(body.messages);
  const fake = fakeProvider({ clock: time, identify, plan: { runMs: HOUR }, ...options });
  let runs = 0;
  return {
    time,
    store,
    fake,
    run: (given) => {
      runs += 1;
      const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
      const { clock } = new SimProcess(time);
      const thresholds = { maxRequests: 10 };
      const accounts = [openaiAccount({ client })];
      return runBatch({ store, accounts, thresholds, clock, random: seeded(runs), job: "night", ...given });
    },
    async settle(promise) {
      let isSettled = false;
      const settled = (): void => {
        isSettled = true;
      };
      promise.then(settled, settled);
      await drive(time, fake, async () => isSettled);
      return promise;
    },
  };
}

export const bodyOf = (content: string): { model: string; messages: { role: string; content: string }[] } => ({
  model: "m",
  messages: [{ role: "user", content }],
});

export function plain(count: number): { body: ReturnType<typeof bodyOf> }[] {
  return Array.from({ length: count }, (_, n) => ({ body: bodyOf(`r${n}`) }));
}

export async function all<T>(outcomes: AsyncIterable<T>): Promise<T[]> {
  const given: T[] = [];
  for await (const outcome of outcomes) given.push(outcome);
  return given;
}

/** How often each request has run at the provider. */
export function runsOf(fake: FakeProvider): number[] {
  return [...fake.runs().values()];
}
