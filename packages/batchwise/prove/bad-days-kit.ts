// What the bad days of all servers have: requests, a provider that counts how often each was run, a
// busy dispatcher, and the ends that all of them want.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { expect, onTestFinished } from "vitest";
import type { Dispatcher } from "../src/dispatch/contract/dispatcher.ts";
import type { Store } from "../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../src/dispatch/dispatcher.ts";
import { openaiAccount } from "../src/dispatch/providers/openai/index.ts";
import { type FakeProvider, fakeProvider } from "../src/dispatch-testing/index.ts";

export const SECOND = 1_000;
/** Longest that a stop may take. Kubernetes kills after thirty. */
const STOP_SECONDS = 10;

export interface Provider {
  readonly fake: FakeProvider;
  readonly url: string;
}

/** By chance, so that no server makes it smaller. */
function ask(id: string) {
  const content = randomBytes(1_000).toString("hex");
  return { id, body: { model: "m", max_tokens: 9, messages: [{ role: "user", content }] } };
}

export function asks(count: number, name: string) {
  return Array.from({ length: count }, (_, n) => ask(`${name}-${n}`));
}

export async function until(happened: () => boolean | Promise<boolean>, mostMs = 60 * SECOND): Promise<void> {
  for (const end = Date.now() + mostMs; Date.now() < end; await sleep(25)) if (await happened()) return;
  throw new Error("It did not happen in time.");
}

export async function provider(): Promise<Provider> {
  const fake = fakeProvider({ plan: { validateMs: 50, runMs: 500, finalizeMs: 50 } });
  const http = await fake.listen();
  onTestFinished(() => http.close());
  return { fake, url: `${http.url}/v1` };
}

export interface Busy {
  readonly dispatcher: Dispatcher;
  /** Of all errors that were reported, in order. */
  readonly codes: readonly string[];
}

export function dispatcherOn(store: Store, url: string): Busy {
  const codes: string[] = [];
  const account = openaiAccount({
    client: new OpenAI({ apiKey: "key", baseURL: url }),
    pollMs: 100,
    requestTimeoutMs: 5 * SECOND,
  });
  const dispatcher = createDispatcher({
    ...{ store, accounts: [account], leaseMs: 15 * SECOND, thresholds: { maxRequests: 100, maxAgeMs: 500 } },
    onError: (error) => codes.push(String((error as { code?: unknown }).code)),
  });
  onTestFinished(() => dispatcher.stop());
  return { dispatcher, codes };
}

/** A dispatcher with a batch of `count` requests at the provider. */
export async function busyOn(store: Store, { fake, url }: Provider, count: number): Promise<Busy> {
  const busy = dispatcherOn(store, url);
  await busy.dispatcher.start();
  await busy.dispatcher.enqueueMany(asks(count, "r"));
  await until(() => fake.calls("batches.create") > 0);
  return busy;
}

export async function stopsInTime(dispatcher: Dispatcher): Promise<void> {
  const begunAt = performance.now();
  await dispatcher.stop();
  expect((performance.now() - begunAt) / SECOND).toBeLessThan(STOP_SECONDS);
}

/** Enqueues refused requests again and again, while their errors are retryable. */
export async function enqueueAtLast(dispatcher: Dispatcher, id: string): Promise<void> {
  const request = ask(id);
  for (;;) {
    try {
      await dispatcher.enqueue(request);
      return;
    } catch (error) {
      if ((error as { retryable?: unknown }).retryable !== true) throw error;
      await sleep(50);
    }
  }
}

/** Another dispatcher ends what is left: all have one outcome, from one run. */
export async function endsWell(store: Store, { fake, url }: Provider, count: number): Promise<void> {
  const { dispatcher } = dispatcherOn(store, url);
  await dispatcher.start();
  await until(async () => (await store.probe(1, Date.now())).cursor >= count);
  await dispatcher.stop();
  const outcomes = await store.outcomes({ after: 0, limit: 1_000_000 });
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => "succeeded"));
  expect(Math.max(...fake.runs().values())).toBe(1);
}
