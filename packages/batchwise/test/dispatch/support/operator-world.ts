// A world for tests of operators: the fake behind the official clients, and dispatchers on one
// store, each as a process of its own.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { drive } from "./drive.ts";
import { isAtRest, type World, world } from "./world.ts";

export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;

export interface Service {
  readonly name: string;
  account(fake: FakeProvider, name?: string): Account;
  readonly operations: {
    readonly create: "batches.create" | "messages.create";
    readonly list: "batches.list" | "messages.list";
  };
}

export const openai: Service = {
  name: "OpenAI",
  account: (fake, name = "openai") =>
    openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }), name }),
  operations: { create: "batches.create", list: "batches.list" },
};

export const anthropic: Service = {
  name: "Anthropic",
  account: (fake, name = "anthropic") =>
    anthropicAccount({
      client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }),
      name,
    }),
  operations: { create: "messages.create", list: "messages.list" },
};

export function request(id: string, more: Partial<DispatchRequest> = {}, model = "m"): DispatchRequest {
  return { id, body: { model, max_tokens: 50, messages: [{ role: "user", content: id }] }, ...more };
}

export function requests(count: number, more: Partial<DispatchRequest> = {}, prefix = "r"): DispatchRequest[] {
  return Array.from({ length: count }, (_, index) => request(`${prefix}${index}`, more));
}

export interface OperatorWorld extends World {
  readonly fake: FakeProvider;
  /** Reports to `onError` of all dispatchers, by code. */
  readonly told: string[];
  open(account: Account | readonly Account[], more?: Partial<DispatcherOptions>): Promise<Dispatcher>;
  /** Advances time. */
  pass(ms: number): Promise<void>;
  rest(): Promise<void>;
}

export function operatorWorld(options: FakeOptions = {}): OperatorWorld {
  const here = world();
  const { time, store } = here;
  const identify: FakeOptions["identify"] = ({ body }) => JSON.stringify(body.messages);
  const fake = fakeProvider({ clock: time, identify, ...options });
  const told: string[] = [];
  const thresholds = { maxRequests: 4, maxAgeMs: MINUTE };
  const onError = (error: unknown): number => told.push((error as { readonly code?: string }).code ?? String(error));
  return {
    ...here,
    fake,
    told,
    open: (account, more = {}) => here.start({ accounts: [account].flat(), thresholds, onError, ...more }),
    async pass(ms) {
      const end = time.now() + ms;
      await drive(time, fake, async () => time.now() >= end);
    },
    rest: () => drive(time, fake, () => isAtRest(store, time.now())),
  };
}
