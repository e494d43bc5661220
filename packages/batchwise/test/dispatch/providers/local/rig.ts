// A dispatcher whose only account runs its lines itself; in real time without a `clock`.

import { createDispatcher, type DispatcherOptions, memoryStore } from "batchwise/dispatch";
import { type LocalAccountOptions, localAccount } from "batchwise/dispatch/local";
import { afterEach } from "vitest";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { DispatchRequest, LoggedOutcome } from "../../../../src/dispatch/contract/types.ts";
import { type Asked, ModelServer, type Said } from "./model-server.ts";

const open: (() => Promise<unknown>)[] = [];

/** Call once in a test file: stops everything that its tests have started. */
export function endAll(): void {
  afterEach(async () => {
    for (const end of open.splice(0).reverse()) await end();
  });
}

export async function server(answer?: (asked: Asked) => Said | undefined): Promise<ModelServer> {
  const made = new ModelServer(answer);
  await made.start();
  open.push(() => made.stop());
  return made;
}

export async function dispatch(
  options: LocalAccountOptions,
  more: Partial<DispatcherOptions> = {},
): Promise<Dispatcher & { readonly errors: unknown[] }> {
  const errors: unknown[] = [];
  const dispatcher = createDispatcher({
    store: memoryStore(),
    accounts: [localAccount({ requestTimeoutMs: 1_000, ...options })],
    thresholds: { maxAgeMs: 20 },
    leaseMs: 3_000,
    retry: { attempts: 3, backoffMs: 50, maxBackoffMs: 100 },
    onError: (error) => errors.push(error),
    ...more,
  });
  await dispatcher.start();
  open.push(() => dispatcher.stop());
  return Object.assign(dispatcher, { errors });
}

export function ask(said: string, more: Partial<DispatchRequest> = {}): DispatchRequest {
  return { id: said, body: { model: "m", messages: [{ role: "user", content: said }] }, ...more };
}

export const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `r${n}`);

/** Every outcome, once `count` are there. */
export async function outcomes(dispatcher: Dispatcher, count: number): Promise<Map<string, LoggedOutcome>> {
  const seen = new Map<string, LoggedOutcome>();
  for await (const outcome of dispatcher.outcomes()) {
    if (seen.has(outcome.id)) throw new Error(`${outcome.id} has two outcomes.`);
    seen.set(outcome.id, outcome);
    if (seen.size === count) break;
  }
  return seen;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
