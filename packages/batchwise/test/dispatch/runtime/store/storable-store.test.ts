// The door in front of the store: no text of a provider or a callback passes it that a database
// does not take.

import { expect, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { world } from "../../support/world.ts";

const ODD = `no\0thing, half \ud83d, ${"and so on, ".repeat(10_000)}`;
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** All texts in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The dispatcher's store, and the calls that reach the store below it. */
function rig() {
  const below: unknown[][] = [];
  const inner = memoryStore();
  const store = new Proxy(inner, {
    get: (_store, name) => {
      const value: unknown = Reflect.get(inner, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        below.push(given);
        return value.apply(inner, given);
      };
    },
  });
  const { time } = world();
  const accounts = [new SimProvider({ time }).account()];
  const runtime = new Runtime(resolveOptions({ store, accounts, owner: ODD, onError: () => {} }));
  return { store: runtime.store, owner: runtime.options.owner, below };
}

const usage = { inputTokens: 0.5, cachedTokens: Number.NaN, outputTokens: 1e300, reasoningTokens: -1 };
const json = JSON.stringify({ code: ODD, message: ODD });
const ending = { ord: 0, kind: "final", status: "failed", payload: "{}", code: ODD, usage, charged: true } as const;
const requeue = { ord: 1, kind: "requeue", code: ODD, charged: true, notBefore: 0, lane: "l" } as const;
const cancelled = { cancelledPayload: "{}", cancelledCode: "c" };
const report = { cursor: 1, sink: "s", attempt: 1, at: 0, statusCode: null, result: "dead", nextAt: 0 } as const;
const changes = {
  ...{ providerFileId: ODD, providerBatchId: ODD, providerState: ODD, lastError: json, disposal: json },
  ...{ expiresAt: Number.NaN, orphans: [{ providerBatchId: ODD, seenAt: 0, action: "ended" }] as const },
  ledgers: [{ name: "a", note: ODD, learnedTokens: 10.5 }],
};

test.each<[string, (store: Store) => Promise<unknown>]>([
  [
    "settle",
    (store) => store.settle({ key: "k", fence: 1, items: [ending, requeue], sinks: [], ...cancelled, now: 0 }),
  ],
  ["transition", (store) => store.transition("k", 1, changes, 0)],
  ["amend", (store) => store.amend({ kind: "fail", ids: ["a"], payload: "{}", code: ODD }, [], 0)],
  ["deliveries", (store) => store.deliveries({ now: 0, reports: [{ ...report, error: ODD }], take: null })],
  ["marks", (store) => store.marks([{ name: ODD, expected: null, value: "v" }], 0)],
])("texts for `%s` are cut and corrected before they are written", async (_method, call) => {
  const { store, below } = rig();
  await call(store);
  const texts = textsIn(below);
  expect(texts.some((text) => text.startsWith("no") || text.startsWith("{"))).toBe(true);
  expect(texts.filter((text) => UNSTORABLE.test(text))).toEqual([]);
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(60_000);
  for (const text of texts) if (!text.startsWith("{")) expect(text.length).toBeLessThanOrEqual(2_000);
});

test("counts are whole when they come to the store, and an invalid time is null", async () => {
  const { store, below } = rig();
  await store.settle({ key: "k", fence: 1, items: [ending], sinks: [], ...cancelled, now: 0 });
  const whole = { inputTokens: 0, cachedTokens: 0, outputTokens: 1e9, reasoningTokens: 0 };
  expect(below).toMatchObject([[{ items: [{ usage: whole }] }]]);
  await store.transition("k", 1, changes, 0);
  expect(below[1]?.[2]).toMatchObject({ expiresAt: null, ledgers: [{ learnedTokens: 10 }] });
});

test.each([
  [1e303, null],
  [Number.POSITIVE_INFINITY, null],
  [-1e300, null],
  [1_700_000_000_123.4, 1_700_000_000_123],
])("a batch that expires at %d is stored as one that does at %s", async (expiresAt, stored) => {
  const { store, below } = rig();
  await store.transition("k", 1, { expiresAt }, 0);
  expect(below[0]?.[2]).toMatchObject({ expiresAt: stored });
});

test("the name of a process is one that every store takes", () => {
  expect(rig().owner).toMatch(/^no\ufffdthing/);
});
