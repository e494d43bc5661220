// Runs the published account suite for each adapter, with the official client of its provider,
// against the strict fake: once in process and once over real sockets.

import {
  type AccountRig,
  accountConformance,
  type FakeOperation,
  type FakeOptions,
  type FakeProvider,
  fakeProvider,
} from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import { afterEach, describe, test } from "vitest";
import type { Account, BatchInput } from "../../../src/dispatch/contract/account.ts";

/** The facts about an adapter that the suite needs. */
export interface Adapter {
  readonly name: string;
  /** The fake's operation that creates a batch. */
  readonly create: FakeOperation;
  /** Differences of the provider from OpenAI and Anthropic. */
  readonly differs?: Pick<AccountRig, "noMoney" | "surface" | "windowMs" | "endsEmpty" | "neverExpires">;
  /** Options that make the fake behave like this provider. */
  readonly fake?: FakeOptions;
  /** An account over the official client, which reaches the fake through `fetch` or at `url`. */
  account(target: { readonly fetch: FakeProvider["fetch"] } | { readonly url: string }): Account;
}

/** How the client reaches the fake. */
export type Reach = "in the process" | "over real sockets";

export function accountSuite(adapter: Adapter, reach: Reach): void {
  const servers: { close(): Promise<void> }[] = [];

  describe(`${adapter.name}, ${reach}`, () => {
    afterEach(async () => {
      for (const server of servers.splice(0)) await server.close();
    });
    for (const { name, run } of accountConformance) {
      test(name, () =>
        run(async (options) => {
          const clock = virtualClock(Date.UTC(2026, 0, 1));
          const fake = fakeProvider({ clock, ...adapter.fake, ...options });
          const rig = { fake, clock, create: adapter.create, ...adapter.differs };
          if (reach === "in the process") return { ...rig, account: adapter.account({ fetch: fake.fetch }) };
          const server = await fake.listen();
          servers.push(server);
          return { ...rig, account: adapter.account({ url: server.url }) };
        }),
      );
    }
  });
}

export function inputOf(lines: readonly string[]): BatchInput {
  return {
    fileName: "01JD3K9V7QX2ABCDEFGHJKMNPQ-1.jsonl",
    requests: lines.length,
    bytes: lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0),
    async *lines() {
      yield* lines;
    },
  };
}
