// One store, one provider behind the official client, and runs of jobs on them, in virtual time.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import type { BatchOutcome, BatchProgress } from "../../../src/dispatch/contract/job.ts";
import type { Store } from "../../../src/dispatch/contract/store.ts";
import type { BatchLine, DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { createDispatcher, type Dispatcher } from "../../../src/dispatch/dispatcher.ts";
import type { RunBatchOptions } from "../../../src/dispatch/options/run-batch-options.ts";
import { runBatch } from "../../../src/dispatch/run-batch.ts";
import type { VirtualClock } from "../../../src/testing/index.ts";
import { drive } from "../support/drive.ts";
import { world } from "../support/world.ts";

export type Request = DispatchRequest | BatchLine;

/** What a run has given so far, and how it ended: "done", or what it rejected with. */
export interface Ran {
  readonly outcomes: BatchOutcome[];
  readonly progress: BatchProgress[];
  end: unknown;
}

export interface JobRig {
  readonly time: VirtualClock;
  readonly store: Store;
  readonly fake: FakeProvider;
  options(requests: RunBatchOptions["requests"], more?: Partial<RunBatchOptions>): RunBatchOptions;
  /** Begins a run of the job "j". `see` may end it by returning false. */
  begin(requests: RunBatchOptions["requests"], more?: Partial<RunBatchOptions>, see?: (ran: Ran) => boolean): Ran;
  /** Lets time pass until the condition holds. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  /** The same, until the run has ended. */
  finish(ran: Ran): Promise<Ran>;
  /** Another dispatcher on the store, whose loops are not started. */
  bystander(): Dispatcher;
  /** How often each request ran at the provider. */
  runs(): number[];
}

export function jobRig(plan: FakeOptions["plan"] = {}, store: Store | null = null): JobRig {
  const { time, store: memory } = world();
  const fake = fakeProvider({ clock: time, ...(plan === undefined ? {} : { plan }) });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch, maxRetries: 0 });
  const shared = { store: store ?? memory, clock: { ...clockOf(time) }, accounts: [openaiAccount({ client })] };
  const until = (condition: () => boolean | Promise<boolean>): Promise<void> =>
    drive(time, fake, async () => condition());
  const options = (requests: RunBatchOptions["requests"], more: Partial<RunBatchOptions> = {}): RunBatchOptions => ({
    ...shared,
    job: "j",
    requests,
    ...more,
  });
  return {
    time,
    store: shared.store,
    fake,
    options,
    until,
    begin: (requests, more = {}, see = () => true) => {
      const ran: Ran = { outcomes: [], progress: [], end: null };
      const onProgress = (progress: BatchProgress): void => void ran.progress.push(progress);
      collect(options(requests, { onProgress, ...more }), ran, see).then(
        () => {
          ran.end = "done";
        },
        (error: unknown) => {
          ran.end = error;
        },
      );
      return ran;
    },
    finish: async (ran) => {
      await until(() => ran.end !== null);
      return ran;
    },
    bystander: () => createDispatcher(shared),
    runs: () => [...fake.runs().values()],
  };
}

async function collect(options: RunBatchOptions, ran: Ran, see: (ran: Ran) => boolean): Promise<void> {
  for await (const outcome of runBatch(options)) {
    ran.outcomes.push(outcome);
    if (!see(ran)) break;
  }
}

function clockOf(time: VirtualClock) {
  return {
    now: () => time.now(),
    monotonic: () => time.now(),
    setTimeout: (callback: () => void, delayMs: number) => time.setTimeout(callback, delayMs),
    clearTimeout: (handle: unknown) => time.clearTimeout(handle),
  };
}

export function bodies(count: number, from = 0): DispatchRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    body: { model: "m", messages: [{ role: "user", content: `Say ${from + n}.` }] },
  }));
}

export const indexes = ({ outcomes }: Ran): number[] => outcomes.map(({ index }) => index).toSorted((a, b) => a - b);
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
