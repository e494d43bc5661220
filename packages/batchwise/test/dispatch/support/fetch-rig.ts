// Shared setup of the `batchFetch` tests: a dispatcher over the official client on the strict fake,
// in virtual time.

import { createDispatcher, type Dispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { onTestFinished } from "vitest";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { type VirtualClock, virtualClock } from "../../../src/testing/index.ts";
import { drive } from "./drive.ts";
import { START, seeded } from "./world.ts";

export class Rig {
  readonly time: VirtualClock = virtualClock(START);
  readonly fake: FakeProvider;
  readonly store: Store = memoryStore();
  readonly told: { readonly code?: unknown; readonly message: string }[] = [];

  constructor(options: FakeOptions = {}) {
    this.fake = fakeProvider({ clock: this.time, ...options });
  }

  async start(options: Partial<DispatcherOptions> = {}): Promise<Dispatcher> {
    const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: this.fake.fetch });
    const dispatcher = createDispatcher({
      ...{
        store: this.store,
        clock: this.time,
        random: seeded(1),
        accounts: [openaiAccount({ client, models: ["m"] })],
      },
      onError: (error) => void this.told.push(error as Error),
      ...options,
    });
    onTestFinished(() => dispatcher.stop());
    await dispatcher.start();
    return dispatcher;
  }

  /** Runs virtual time until these have settled. */
  async settled<T>(promises: readonly Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
    let isDone = false;
    const all = Promise.allSettled(promises);
    void all.then(() => {
      isDone = true;
    });
    await drive(this.time, this.fake, async () => isDone);
    return all;
  }

  async answers<T>(promises: readonly Promise<T>[]): Promise<T[]> {
    const settled = await this.settled(promises);
    return settled.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  }
}

export const clientOf = (fetch: typeof globalThis.fetch): OpenAI =>
  new OpenAI({ apiKey: "caller", baseURL: "http://elsewhere.test/v1", fetch, maxRetries: 0, timeout: 172_800_000 });

export const chat = (client: OpenAI, content: string, more: object = {}, options: OpenAI.RequestOptions = {}) =>
  client.chat.completions.create({ model: "m", messages: [{ role: "user", content }], ...more }, options);

export const questions = (count: number): string[] => Array.from({ length: count }, (_, index) => `Question ${index}?`);
